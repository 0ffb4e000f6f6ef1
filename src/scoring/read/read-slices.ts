import type { TraceData } from '../../domain/span.ts';
import { AppError } from '../../domain/errors.ts';
import { joinTraceKey, type SpanSource, type TraceKey } from '../../store/contracts/stores.ts';

/** Spans that one read should return at most, so that they fit into memory. */
const SPANS_PER_READ = 20_000;

/** Most traces of one read. */
const TRACES_PER_READ = 200;

/** Traces of the first read, while their size is unknown. */
const FIRST_READ = 50;

/** Data of a trace, or the reason why it cannot be read. */
export type ReadTrace =
  | { readonly key: TraceKey; readonly data: TraceData }
  | { readonly key: TraceKey; readonly error: AppError };

/**
 * Reads many traces in few queries. The smaller the traces of a slice, the more traces the next slice has. A slice that the store
 * refuses is halved, down to the one trace that cannot be read. Throws only when the store cannot be reached.
 */
export async function* readSlices(
  spans: Pick<SpanSource, 'read'>,
  keys: readonly TraceKey[],
): AsyncGenerator<readonly ReadTrace[]> {
  let size = FIRST_READ;
  for (let start = 0; start < keys.length;) {
    const slice = keys.slice(start, start + size);
    const read = await readSlice(spans, slice);
    yield read;
    start += slice.length;
    size = computeNextSize(read);
  }
}

function computeNextSize(read: readonly ReadTrace[]): number {
  const total = read.reduce((sum, each) => sum + ('data' in each ? each.data.spans.length : 0), 0);
  const perTrace = Math.max(1, total / Math.max(1, read.length));
  return Math.max(1, Math.min(TRACES_PER_READ, Math.floor(SPANS_PER_READ / perTrace)));
}

async function readSlice(spans: Pick<SpanSource, 'read'>, keys: readonly TraceKey[]): Promise<ReadTrace[]> {
  try {
    const found = await spans.read(keys);
    return keys.map((key) => ({
      key,
      data: found.get(joinTraceKey(key)) ?? { traceId: key.traceId, spans: [], logs: [] },
    }));
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'store_unavailable') {
      throw error;
    }
    const [only] = keys;
    if (keys.length === 1 && only !== undefined) {
      return [{ key: only, error }];
    }
    const half = Math.ceil(keys.length / 2);
    const first = await readSlice(spans, keys.slice(0, half));
    return [...first, ...(await readSlice(spans, keys.slice(half)))];
  }
}

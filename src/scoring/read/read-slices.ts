import type { TraceData } from '../../domain/trace/span.ts';
import { AppError } from '../../domain/errors.ts';
import { createReadMemory, type ReadMemory } from './read-memory.ts';
import { joinTraceKey, type SpanSource, type TraceKey } from '../../store/contracts/stores.ts';

/** Data of a trace, or the reason why it cannot be read. */
export type ReadTrace =
  | { readonly key: TraceKey; readonly data: TraceData }
  | { readonly key: TraceKey; readonly error: AppError };

/**
 * Reads many traces in few queries, while there is room in memory (by default without a limit). The caller
 * releases the memory of each trace. A slice that the
 * store refuses is halved, down to the one trace that cannot be read. Throws only when the store cannot be reached.
 */
export async function* readSlices(
  spans: Pick<SpanSource, 'read'>,
  keys: readonly TraceKey[],
  memory: ReadMemory = createReadMemory(Infinity),
): AsyncGenerator<readonly ReadTrace[]> {
  for (let start = 0; start < keys.length;) {
    await memory.waitForRoom();
    const slice = keys.slice(start, start + memory.nextReadSize());
    const read = await readSlice(spans, slice);
    memory.add(read.flatMap((each) => ('data' in each ? [each.data] : [])));
    yield read;
    start += slice.length;
  }
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

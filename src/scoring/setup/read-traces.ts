import {
  readTrace,
  readTraceInSlices,
  joinTraces,
  MAX_PIECE_SPANS,
  pieceOf,
} from '../../conventions/index.ts';
import type { ReadingOptions, TraceReading } from '../../domain/trace/agent-run.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import { joinTraceKey, type SpanSource, type TraceActivity } from '../../store/contracts/stores.ts';
import { PieceCache, findJoinedRuns, type TraceJoiner } from '../read/sibling-traces.ts';
import { readSlices } from '../read/read-slices.ts';
import { setImmediate as pause } from 'node:timers/promises';
import PQueue from 'p-queue';

/** Limits of spans, and of characters of attributes, above which a trace is read in slices. */
const MANY_SPANS = 200;
const MANY_CHARS = 1_000_000;

/**
 * Creates a reader of traces for a process that also receives. It reads large traces in slices, and other work runs between
 * the slices. It reads one large trace at a time, to need the memory only once.
 */
export function createTurnReader(): (
  data: TraceData,
  options?: ReadingOptions,
) => TraceReading | Promise<TraceReading> {
  const large = new PQueue({ concurrency: 1 });
  return (data, options) =>
    isLarge(data)
      ? large.add(() => readTraceInSlices(data, { nowMs: () => performance.now(), pause }, options))
      : readTrace(data, options);
}

/** Reads traces for the pages and requests of a process. */
export const readInTurns: ReturnType<typeof createTurnReader> = createTurnReader();

function isLarge({ spans }: TraceData): boolean {
  if (spans.length > MANY_SPANS) {
    return true;
  }
  let chars = 0;
  for (const { attributes } of spans) {
    attributes.forEach((value) => (chars += value.length));
  }
  return chars > MANY_CHARS;
}

/** Joins runs that consist of several traces. */
export const JOINER: TraceJoiner = { maxPieceSpans: MAX_PIECE_SPANS, readPiece: pieceOf, join: joinTraces };

/**
 * Reads stored traces as they are scored: a piece of a run comes with the rest of the run, under the trace id of its owner.
 * Omits traces that cannot be read. Throws only when the store is not reachable.
 */
export async function readJoinedTraces(
  spans: SpanSource,
  traces: readonly TraceActivity[],
): Promise<TraceData[]> {
  const source = { spans, joiner: JOINER, cache: new PieceCache() };
  const byKey = new Map(traces.map((activity) => [joinTraceKey(activity), activity]));
  const found: TraceData[] = [];
  for await (const slice of readSlices(spans, traces)) {
    const reads = slice.flatMap((read) => {
      const activity = byKey.get(joinTraceKey(read.key));
      return 'data' in read && activity !== undefined ? [{ activity, data: read.data }] : [];
    });
    const runs = await findJoinedRuns(source, reads);
    const joined = new Set(runs.flatMap((run) => run.members.map(joinTraceKey)));
    found.push(
      ...reads.flatMap(({ activity, data }) => (joined.has(joinTraceKey(activity)) ? [] : [data])),
      ...runs.map((run) => run.data),
    );
  }
  return found;
}

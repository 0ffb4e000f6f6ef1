import { joinTraces, MAX_PIECE_SPANS, pieceOf } from '../../conventions/index.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import { PieceCache, findJoinedRuns, type TraceJoiner } from '../../scoring/read/sibling-traces.ts';
import { readSlices } from '../../scoring/read/read-slices.ts';
import { joinTraceKey, type SpanSource, type TraceActivity } from '../../store/contracts/stores.ts';

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

import { setImmediate as pause } from 'node:timers/promises';
import type { StepSpan } from '../json/span-json.ts';
import { readStepKinds } from '../../conventions/step-kinds.ts';
import type { TraceReading } from '../../domain/trace/agent-run.ts';
import type { Span, TraceData } from '../../domain/trace/span.ts';
import { createPieceCache } from '../../scoring/read/piece-cache.ts';
import { readSlices } from '../../scoring/read/read-slices.ts';
import { findJoinedRuns } from '../../scoring/read/sibling-traces.ts';
import type { SpanSource, TraceActivity } from '../../store/contracts/stores.ts';
import { JOINER, createTurnReader } from '../../scoring/setup/read-traces.ts';

/** Stored trace as it is scored: with the other traces of its run. */
export interface StoredTrace {
  readonly data: TraceData;
  /** Ids of the other traces. */
  readonly joinedWith: readonly string[];
}

/** Reads the spans of a trace and of the other traces of its run. Throws an `AppError` when they cannot be read. */
export async function readStoredTrace(spans: SpanSource, activity: TraceActivity): Promise<StoredTrace> {
  for await (const [read] of readSlices(spans, [activity])) {
    if (read !== undefined && 'error' in read) {
      throw read.error;
    }
    if (read !== undefined) {
      const source = { spans, joiner: JOINER, cache: createPieceCache() };
      const [run] = await findJoinedRuns(source, [{ activity, data: read.data }]);
      const others = (run?.members ?? []).filter(({ traceId }) => traceId !== activity.traceId);
      return { data: run?.data ?? read.data, joinedWith: others.map(({ traceId }) => traceId) };
    }
  }
  return { data: { traceId: activity.traceId, spans: [], logs: [] }, joinedWith: [] };
}

const readTrace = createTurnReader();

/** Reads a trace as runs, and the kinds of its steps; the spans by their start. Large traces let other work run between. */
export async function readSteps(
  data: TraceData,
): Promise<{ readonly reading: TraceReading; readonly spans: readonly StepSpan[] }> {
  const reading = await readTrace(data);
  const kinds = await readStepKinds(data, { nowMs: () => performance.now(), pause });
  const spans = data.spans
    .map((span) => ({ span, kind: kinds.get(span.spanId) ?? 'other' }))
    .toSorted((a, b) => compareStarts(a.span, b.span));
  return { reading, spans };
}

function compareStarts(a: Span, b: Span): number {
  return Number(a.startUnixNano - b.startUnixNano) || (a.spanId < b.spanId ? -1 : 1);
}

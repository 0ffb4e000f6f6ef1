import type { TraceData } from '../../domain/trace/span.ts';
import { checkReadiness } from '../../readiness/readiness.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import { computeWaitUntil, type TraceCandidate } from '../select/select-rules.ts';
import type { ReadContext } from './read-context.ts';
import { findJoinedRuns, type JoinedRun } from './sibling-traces.ts';

/** Reason why an undecided trace is not scored yet. */
export interface Wait {
  readonly reason: string;
  /** Time of the next check, by the store's clock, never in the past; null for a trace that is ready. */
  readonly dueAtMs: number | null;
}

/** Finds the reason why an undecided trace waits: for spans of its own, or for other pieces of its run. Throws when the store does. */
export async function readWait(context: ReadContext, candidate: TraceCandidate): Promise<Wait> {
  const { spans } = context.stores;
  const data = (await spans.read([candidate.activity])).get(joinTraceKey(candidate.activity));
  const run = data === undefined ? undefined : await findRun(context, candidate, data);
  if (run !== undefined) {
    return describePieceWait(context, candidate, run);
  }
  const dueAtMs = computeWaitUntil(candidate, context.readiness);
  if (dueAtMs === null) {
    return (data && describeParentWait(context, candidate, data)) ?? READY;
  }
  const isLate = candidate.prior.length > 0;
  return {
    reason: isLate ? 'new spans came; it is waited for more of them' : 'spans may still come',
    dueAtMs,
  };
}

const READY: Wait = {
  reason: 'it is ready: its scorers are at work on it, or it is scored next',
  dueAtMs: null,
};

async function findRun(
  { stores, joining }: ReadContext,
  { activity }: TraceCandidate,
  data: TraceData,
): Promise<JoinedRun | undefined> {
  if (joining === null) {
    return undefined;
  }
  const runs = await findJoinedRuns({ spans: stores.spans, ...joining }, [{ activity, data }]);
  return runs.find(({ members }) => members.some(({ traceId }) => traceId === activity.traceId));
}

/** Describes the wait of a piece: its run is scored once, when all its pieces are quiet. */
function describePieceWait({ readiness }: ReadContext, candidate: TraceCandidate, run: JoinedRun): Wait {
  const lastArrivalMs = Math.max(...run.members.map((member) => member.lastArrivalMs));
  const activity = { ...candidate.activity, lastArrivalMs, rootSeen: run.finished };
  const dueAtMs = computeWaitUntil({ ...candidate, activity }, readiness);
  const others = run.members.flatMap(({ traceId }) =>
    traceId === candidate.activity.traceId ? [] : [traceId],
  );
  const piece =
    others.length === 0
      ? 'it is a piece of a run whose other pieces have not come'
      : `it is a piece of the run that is scored as trace ${run.data.traceId}, with ${others.join(', ')}`;
  return {
    reason: `${piece}; ${dueAtMs === null ? READY.reason : 'further pieces may still come'}`,
    dueAtMs,
  };
}

/** Describes the wait for a missing parent of a span: live scoring waits for it up to the maximum wait. */
function describeParentWait(
  { readiness }: ReadContext,
  candidate: TraceCandidate,
  data: TraceData,
): Wait | undefined {
  const { activity, prior, nowMs } = candidate;
  const ids = new Set(data.spans.map((span) => span.spanId));
  const missing = data.spans.find((span) => span.parentSpanId !== '' && !ids.has(span.parentSpanId));
  const state = {
    rootSeen: activity.rootSeen,
    parentMissing: missing !== undefined,
    quietMs: nowMs - activity.lastArrivalMs,
    ageMs: nowMs - activity.firstArrivalMs,
  };
  if (missing === undefined || prior.length > 0 || checkReadiness(state, readiness) !== null) {
    return undefined;
  }
  return {
    reason: `span ${missing.parentSpanId}, the parent of another, has not come; it is waited for`,
    dueAtMs: activity.firstArrivalMs + readiness.maxWaitMs,
  };
}

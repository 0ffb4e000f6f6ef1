import type { ScoringStores } from '../../scoring/scoring-stores.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../../store/contracts/stores.ts';
import { DAY_MS } from '../../domain/durations.ts';
import type { SpooledTrace, TraceSpool } from './trace-spool.ts';

/** Age of the last span of a recorded trace, longer than any wait: the trace counts as complete. */
const QUIET_MS = DAY_MS;

/** Nothing is stored, so no run is known and no agent has a past. */
const NO_RUNS: Pick<ScoringStores, 'runs' | 'agentPasts'> = {
  runs: { ofTraces: async () => new Map(), readUntil: async () => new Map(), write: async () => undefined },
  agentPasts: { read: async () => new Map() },
};

/** Nothing is stored, so no budget knows the calls. */
const NO_JUDGE_CALLS: ScoringStores['judgeCalls'] = {
  write: async () => undefined,
  readSpending: async () => ({ bookedUsd: 0, reservedUsd: 0 }),
  listSpending: async () => [],
  spend: async () => undefined,
};

/**
 * Presents the traces of files as a store, so that the usual scoring path scores them. The traces are complete, have no
 * decisions, and nothing is stored.
 */
export function createSpoolStores(spool: TraceSpool, nowMs: number): ScoringStores {
  const none = async () => [];
  const nothing = async () => undefined;
  return {
    spans: {
      nowMs: async () => nowMs,
      arrivals: none,
      activity: async (keys) =>
        new Map(
          spool
            .find(keys.map(({ traceId }) => traceId))
            .map((trace) => [joinTraceKey(spooledKey(trace.traceId)), buildActivity(trace, nowMs)]),
        ),
      facts: async () => new Map(),
      read: async (keys) =>
        new Map(
          keys.flatMap(({ traceId }) => {
            const data = spool.read(traceId);
            return data === undefined ? [] : [[joinTraceKey(spooledKey(traceId)), data] as const];
          }),
        ),
      list: async ({ fromMs, toMs, limit }) =>
        spool
          .list({ fromUnixNano: toNanos(fromMs), toUnixNano: toNanos(toMs), limit })
          .map((trace) => buildActivity(trace, nowMs)),
      count: async () => spool.count(),
      findTrace: none,
    },
    decisions: {
      ofTraces: async () => new Map(),
      write: nothing,
      undecided: none,
      due: none,
      heldBack: none,
    },
    scores: {
      byIds: async () => new Map(),
      ofTraces: async () => new Map(),
      write: nothing,
    },
    ...NO_RUNS,
    sessions: {
      undecided: none,
      activity: nothing,
      changed: none,
      list: none,
      find: none,
      turns: async () => ({ turns: [], count: 0 }),
      turnsOf: async () => [],
      decisions: none,
      resultTimes: none,
      scores: none,
      findIds: none,
    },
    ruleVersions: { list: none, record: nothing },
    versionSamples: { read: async () => new Map(), append: nothing, findInUse: async () => new Set() },
    judgeCalls: NO_JUDGE_CALLS,
  };
}

/** Returns the key of a trace of a file: it has no tenant. */
export function spooledKey(traceId: string): TraceKey {
  return { tenant: '', traceId };
}

function toNanos(ms: number): bigint {
  return BigInt(Math.trunc(ms)) * 1_000_000n;
}

function buildActivity(
  { traceId, firstStartUnixNano, lastEndUnixNano, errorSeen }: SpooledTrace,
  nowMs: number,
): TraceActivity {
  return {
    ...spooledKey(traceId),
    firstArrivalMs: nowMs - QUIET_MS,
    lastArrivalMs: nowMs - QUIET_MS,
    firstStartUnixNano,
    lastEndUnixNano,
    rootSeen: true,
    agentSeen: true,
    errorSeen,
  };
}

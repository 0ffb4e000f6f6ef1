import { endUnixNano, type TraceData } from '../../domain/trace/span.ts';
import type { ScoringStores } from '../../scoring/scoring-stores.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../../store/contracts/stores.ts';
import { DAY_MS } from '../../domain/durations.ts';

/** Age of the last span of a recorded trace, longer than any wait: the trace counts as complete. */
const QUIET_MS = DAY_MS;

/** Nothing is stored, so no budget knows the calls. */
const NO_JUDGE_CALLS: ScoringStores['judgeCalls'] = {
  write: async () => undefined,
  readSpending: async () => ({ bookedUsd: 0, reservedUsd: 0 }),
  listSpending: async () => [],
  spend: async () => undefined,
};

/**
 * Presents the traces of a file as a store, so that the usual scoring path scores them. The traces are complete, have no
 * decisions, and nothing is stored.
 */
export function fileStores(
  traces: readonly TraceData[],
  nowMs: number,
): { stores: ScoringStores; keys: TraceKey[] } {
  const byKey = new Map(traces.map((trace) => [joinTraceKey({ tenant: '', traceId: trace.traceId }), trace]));
  const found = <T>(keys: readonly TraceKey[], make: (trace: TraceData) => T) =>
    new Map(
      keys.flatMap((key): [string, T][] => {
        const trace = byKey.get(joinTraceKey(key));
        return trace === undefined ? [] : [[joinTraceKey(key), make(trace)]];
      }),
    );
  const none = async () => [];
  const nothing = async () => undefined;
  const stores: ScoringStores = {
    spans: {
      nowMs: async () => nowMs,
      arrivals: none,
      activity: async (keys) => found(keys, (trace) => buildActivity(trace, nowMs)),
      facts: async () => new Map(),
      read: async (keys) => found(keys, (trace) => trace),
      list: async ({ fromMs, toMs, limit }) =>
        traces
          .map((trace) => buildActivity(trace, nowMs))
          .filter(({ firstStartUnixNano: start }) => start >= toNanos(fromMs) && start < toNanos(toMs))
          .slice(0, limit),
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
      list: none,
    },
    runs: { ofTraces: async () => new Map(), readUntil: async () => new Map(), write: nothing },
    sessions: {
      undecided: none,
      activity: nothing,
      list: none,
      find: none,
      turns: async () => ({ turns: [], count: 0 }),
      decisions: none,
      scores: none,
      findIds: none,
    },
    ruleVersions: { list: none, record: nothing },
    versionSamples: { read: async () => new Map(), append: nothing, findInUse: async () => new Set() },
    judgeCalls: NO_JUDGE_CALLS,
  };
  return { stores, keys: traces.map(({ traceId }) => ({ tenant: '', traceId })) };
}

function toNanos(ms: number): bigint {
  return BigInt(Math.trunc(ms)) * 1_000_000n;
}

function buildActivity(trace: TraceData, nowMs: number): TraceActivity {
  const starts = trace.spans.map((span) => span.startUnixNano);
  const ends = trace.spans.map(endUnixNano);
  return {
    tenant: '',
    traceId: trace.traceId,
    firstArrivalMs: nowMs - QUIET_MS,
    lastArrivalMs: nowMs - QUIET_MS,
    firstStartUnixNano: starts.reduce((least, time) => (time < least ? time : least), starts[0] ?? 0n),
    lastEndUnixNano: ends.reduce((most, time) => (time > most ? time : most), ends[0] ?? 0n),
    rootSeen: true,
    agentSeen: true,
    errorSeen: trace.spans.some((span) => span.statusCode === 'Error'),
  };
}

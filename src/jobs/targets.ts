import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import { hashValue } from '../domain/identity.ts';
import type { Score } from '../domain/score.ts';
import { buildSessionTargetId } from '../domain/session-target.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { findSessionKeys, SESSIONS_AT_ONCE } from '../scoring/sessions/select-sessions.ts';
import { scoreSession, type SessionSettings } from '../scoring/sessions/score-session.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { SessionKey } from '../store/contracts/lists.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';

export type TargetKey = TraceKey | SessionKey;

/** Returns the name of a trace or session, for maps. */
export function nameTarget(key: TargetKey): string {
  const { tenant } = key;
  return joinTraceKey('sessionId' in key ? { tenant, traceId: buildSessionTargetId(key.sessionId) } : key);
}

/** Returns the name of the trace or session of a decision. Rows of sessions have no trace id. */
export function nameTargetOf({ tenant, traceId, targetId }: Decision): string {
  return joinTraceKey({ tenant, traceId: traceId || targetId });
}

/** Returns the name of a decision, for sets and maps. */
export function nameRow({ tenant, traceId, target, targetId, rule, scorer }: Decision): string {
  return JSON.stringify([tenant, traceId, target, targetId, rule, scorer]);
}

/** Returns the keys with the least hashes, in their order: samples of different work share their targets as far as possible. */
export function sampleKeys<Key extends TargetKey>(keys: readonly Key[], most: number): Key[] {
  return keys
    .map((key) => ({ key, hash: hashValue(['estimate', nameTarget(key)]) }))
    .toSorted((a, b) => (a.hash < b.hash ? -1 : 1))
    .slice(0, most)
    .map(({ key }) => key);
}

/** Scores sessions, some at the same time. Returns the results of `score`, in the order of the keys. */
export function eachSession<Result>(
  { traceConcurrency }: Pick<Scoring, 'traceConcurrency'>,
  keys: readonly SessionKey[],
  score: (key: SessionKey) => Promise<Result>,
): Promise<Result[]> {
  const queue = new PQueue({ concurrency: Math.min(SESSIONS_AT_ONCE, traceConcurrency) });
  return queue.addAll(keys.map((key) => () => score(key)));
}

/** Targets of one phase of a job: how they are scored, and what is stored of them. */
export interface JobTargets {
  readonly rules: readonly PreparedRule[];
  /** Scores targets. Calls `onOutcome` with the name of each target as soon as it is done. */
  score(keys: readonly TargetKey[], onOutcome: (name: string, outcome: TraceOutcome) => void): Promise<void>;
  readRows(keys: readonly TargetKey[]): Promise<Decision[]>;
  readScores(rows: readonly Decision[]): Promise<Score[]>;
}

export function createTraceTargets(scoring: Scoring, mode: ScoringMode): JobTargets {
  const { stores } = scoring;
  const listKeys = (keys: readonly TargetKey[]) => keys.filter((key) => 'traceId' in key);
  return {
    rules: mode.rules,
    async score(targets, onOutcome) {
      const keys = listKeys(targets);
      await scoreTraces(knowActivity(scoring, keys), keys, mode, (outcome) =>
        onOutcome(joinTraceKey(outcome.key), outcome),
      );
    },
    readRows: async (keys) => [...(await stores.decisions.ofTraces(listKeys(keys))).values()].flat(),
    readScores: async (rows) => {
      const keys = rows.map(({ tenant, traceId }) => ({ tenant, traceId }));
      const distinct = [...new Map(keys.map((key) => [joinTraceKey(key), key])).values()];
      return [...(await stores.scores.ofTraces(distinct)).values()].flat();
    },
  };
}

export function createSessionTargets(
  scoring: Scoring,
  mode: ScoringMode,
  settings: SessionSettings,
): JobTargets {
  const { sessions } = scoring.stores;
  const listKeys = (keys: readonly TargetKey[]) => keys.filter((key) => 'sessionId' in key);
  return {
    rules: mode.sessionRules,
    async score(keys, onOutcome) {
      await eachSession(scoring, listKeys(keys), async (key) =>
        onOutcome(nameTarget(key), await scoreSession(scoring, key, mode, settings)),
      );
    },
    async readRows(keys) {
      const ofTenants = [...Map.groupBy(listKeys(keys), ({ tenant }) => tenant)].map(([tenant, ofTenant]) =>
        sessions.decisions(
          tenant,
          ofTenant.map(({ sessionId }) => buildSessionTargetId(sessionId)),
        ),
      );
      return (await Promise.all(ofTenants)).flat();
    },
    async readScores(rows) {
      const keys = await findSessionKeys(sessions, rows);
      return (await Promise.all([...keys.values()].map((key) => sessions.scores(key)))).flat();
    },
  };
}

/** Returns scoring that does not look up again what the selection of a page has just read. */
function knowActivity(scoring: Scoring, keys: readonly (TraceKey | TraceActivity)[]): Scoring {
  const { stores } = scoring;
  const activities = keys.filter((key) => 'lastArrivalMs' in key);
  const read = new Map(activities.map((activity) => [joinTraceKey(activity), activity]));
  const activity: typeof stores.spans.activity = async (wanted) => {
    const listed = wanted.flatMap((key) => read.get(joinTraceKey(key)) ?? []);
    return listed.length === wanted.length
      ? new Map(listed.map((each) => [joinTraceKey(each), each]))
      : stores.spans.activity(wanted);
  };
  return { ...scoring, stores: { ...stores, spans: { ...stores.spans, activity } } };
}

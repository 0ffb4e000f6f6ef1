import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import type { Score, ScoreSource } from '../domain/score.ts';
import { buildSessionTargetId } from '../domain/session-target.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { findSessionKeys, SESSIONS_AT_ONCE } from '../scoring/sessions/select-sessions.ts';
import { scoreSession, type SessionSettings } from '../scoring/sessions/score-session.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { SessionKey } from '../store/contracts/sessions.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';

/** Kind of targets of a backfill: how they are scored, and what is stored of them. */
export interface BackfillTargets<Key> {
  readonly rules: readonly PreparedRule[];
  name(key: Key): string;
  /** Returns the name of the target that a decision belongs to. */
  nameOfRow(row: Decision): string;
  /** Scores targets. Calls `onOutcome` with the name of each target as soon as it is done. */
  score(keys: readonly Key[], onOutcome: (name: string, outcome: TraceOutcome) => void): Promise<void>;
  readRows(keys: readonly Key[]): Promise<Decision[]>;
  /** Reads the scores of the targets of these decisions. */
  readScores(rows: readonly Decision[]): Promise<Score[]>;
  /** Returns true for the source of a score that the backfill may have written. */
  isOurs(source: ScoreSource): boolean;
}

/** Returns the name of a score of one scorer on one target, for sets. */
export function nameScore({
  tenant,
  targetId,
  fingerprint,
}: Pick<Score, 'tenant' | 'targetId' | 'fingerprint'>): string {
  return JSON.stringify([tenant, targetId, fingerprint]);
}

/** Creates the targets of rules on traces and their parts. */
export function createTraceTargets(scoring: Scoring, mode: ScoringMode): BackfillTargets<TraceActivity> {
  const { stores } = scoring;
  const paired = readScoresAgain(scoring);
  return {
    rules: mode.rules,
    name: joinTraceKey,
    nameOfRow: joinTraceKey,
    async score(keys, onOutcome) {
      await scoreTraces(knowActivity(paired, keys), keys, mode, (outcome) =>
        onOutcome(joinTraceKey(outcome.key), outcome),
      );
    },
    readRows: async (keys) => [...(await stores.decisions.ofTraces(keys)).values()].flat(),
    readScores: async (rows) => [...(await stores.scores.ofTraces(listKeys(rows))).values()].flat(),
    isOurs: (source) => isOurs(mode, source),
  };
}

/** Creates the targets of rules on sessions. */
export function createSessionTargets(
  scoring: Scoring,
  mode: ScoringMode,
  settings: SessionSettings,
): BackfillTargets<SessionKey> {
  const { sessions } = scoring.stores;
  const name = ({ tenant, sessionId }: SessionKey) => `${tenant} ${buildSessionTargetId(sessionId)}`;
  const nameOfRow = ({ tenant, targetId }: Decision) => `${tenant} ${targetId}`;
  return {
    rules: mode.sessionRules,
    name,
    nameOfRow,
    async score(keys, onOutcome) {
      const queue = new PQueue({ concurrency: Math.min(SESSIONS_AT_ONCE, scoring.traceConcurrency) });
      await queue.addAll(
        keys.map((key) => async () => onOutcome(name(key), await scoreSession(scoring, key, mode, settings))),
      );
    },
    async readRows(keys) {
      const ofTenants = [...Map.groupBy(keys, ({ tenant }) => tenant)].map(([tenant, ofTenant]) =>
        sessions.decisions(
          tenant,
          ofTenant.map(({ sessionId }) => buildSessionTargetId(sessionId)),
        ),
      );
      return (await Promise.all(ofTenants)).flat();
    },
    async readScores(rows) {
      const keys = await findSessionKeys(scoring.stores.sessions, rows);
      return (await Promise.all([...keys.values()].map((key) => sessions.scores(key)))).flat();
    },
    isOurs: (source) => isOurs(mode, source),
  };
}

/** A backfill that replaces scores keeps the source of each. */
function isOurs({ redo }: ScoringMode, source: ScoreSource): boolean {
  return source === 'backfill' || (redo !== null && source !== 'human');
}

function listKeys(rows: readonly Decision[]): TraceKey[] {
  const keys = rows.map(({ tenant, traceId }) => ({ tenant, traceId }));
  return [...new Map(keys.map((key) => [joinTraceKey(key), key])).values()];
}

/** Returns scoring that does not look up again what the selection of a page has just read. */
function knowActivity(scoring: Scoring, activities: readonly TraceActivity[]): Scoring {
  const { stores } = scoring;
  const known = new Map(activities.map((activity) => [joinTraceKey(activity), activity]));
  const activity: typeof stores.spans.activity = async (keys) => {
    const found = keys.flatMap((key) => known.get(joinTraceKey(key)) ?? []);
    return found.length === keys.length
      ? new Map(found.map((each) => [joinTraceKey(each), each]))
      : stores.spans.activity(keys);
  };
  return { ...scoring, stores: { ...stores, spans: { ...stores.spans, activity } } };
}

/**
 * Reads the scores of each run again before its judge is asked, however lately they were read: the page beside may have judged the same
 * run meanwhile.
 */
function readScoresAgain(scoring: Scoring): Scoring {
  const { laterScores } = scoring;
  const read: typeof laterScores.read = (task) =>
    laterScores.read({ ...task, existingReadMs: Number.NEGATIVE_INFINITY });
  return { ...scoring, laterScores: { read } };
}

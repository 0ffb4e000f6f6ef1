import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import type { AppError } from '../domain/errors.ts';
import type { Score } from '../domain/score.ts';
import type { AgentRun, TraceReading } from '../domain/trace/agent-run.ts';
import { createLookScoring } from '../estimate/look-scoring.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { scoreSession } from '../scoring/sessions/score-session.ts';
import { SESSIONS_AT_ONCE } from '../scoring/sessions/select-sessions.ts';
import type { SessionSettings } from '../scoring/sessions/session-readiness.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { SessionKey } from '../store/contracts/sessions.ts';
import { joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';

/** One trace or session of a preview, with what the rule says of it and what is stored. */
export interface PreviewedTrace {
  /** A session has no trace id. */
  readonly key: TraceKey;
  /** '' for a trace. */
  readonly sessionId: string;
  /**
   * Null for a trace that was not read by itself: a piece of another run, or one that the rule declines. Null for a session that the rule
   * declines, too; else its turns as one run.
   */
  readonly reading: TraceReading | null;
  /** Under the name of the rule. */
  readonly decisions: readonly Decision[];
  readonly scores: readonly Score[];
  /** Current scores of the same scorers on this trace or session. */
  readonly stored: readonly Score[];
  /** Error that broke it off: its verdicts are missing. */
  readonly error: AppError | null;
}

/** Terms of the verdicts of a preview. */
export interface JudgeTerms {
  readonly rule: { readonly name: string };
  /** Ends the verdicts: those that have not come are missing. */
  readonly judging: AbortSignal;
}

/** Scores traces as live scoring does, and stores nothing. Gives leased money back at the end. */
export async function judgeTraces(
  scoring: Scoring,
  mode: ScoringMode,
  keys: readonly TraceKey[],
  terms: JudgeTerms,
): Promise<PreviewedTrace[]> {
  const { looking, readings } = watchReadings(createJudgeScoring(scoring, terms));
  const stored = await scoring.stores.scores.ofTraces(keys);
  const outcomes = await scoreTraces(looking, keys, mode);
  await scoring.budget.giveBack();
  return outcomes.map((outcome) =>
    describeOutcome(outcome, mode, terms, {
      sessionId: '',
      reading: readings.find(({ traceId }) => traceId === outcome.key.traceId) ?? null,
      stored: stored.get(joinTraceKey(outcome.key)) ?? [],
    }),
  );
}

/** Scores sessions in the same way. */
export async function judgeSessions(
  scoring: Scoring,
  mode: ScoringMode,
  keys: readonly SessionKey[],
  { settings, ...terms }: JudgeTerms & { readonly settings: SessionSettings },
): Promise<PreviewedTrace[]> {
  const judging = createJudgeScoring(scoring, terms);
  const queue = new PQueue({ concurrency: SESSIONS_AT_ONCE });
  const judged = await queue.addAll(
    keys.map((key) => async () => {
      const { looking, readings } = watchReadings(judging);
      const sessions: AgentRun[] = [];
      const onSession: Scoring['onSession'] = ({ session }) => void sessions.push(session);
      const stored = await scoring.stores.sessions.scores(key);
      const outcome = await scoreSession({ ...looking, onSession }, key, mode, settings);
      return describeOutcome(outcome, mode, terms, {
        sessionId: key.sessionId,
        reading: sessions.length === 0 ? null : joinReadings(readings, sessions),
        stored,
      });
    }),
  );
  await scoring.budget.giveBack();
  return judged;
}

/** Derives the scoring of verdicts, which ends with its signal. */
function createJudgeScoring(scoring: Scoring, { judging }: JudgeTerms): Scoring {
  const signals = [judging, ...(scoring.signal === undefined ? [] : [scoring.signal])];
  return { ...createLookScoring(scoring), signal: AbortSignal.any(signals) };
}

/** Derives scoring that keeps what it reads. */
function watchReadings(scoring: Scoring): {
  readonly looking: Scoring;
  readonly readings: readonly TraceReading[];
} {
  const readings: TraceReading[] = [];
  const readTrace: Scoring['readTrace'] = async (data, options) => {
    const reading = await scoring.readTrace(data, options);
    readings.push(reading);
    return reading;
  };
  return { looking: { ...scoring, readTrace }, readings };
}

/** Joins the readings of the turns of a session. */
function joinReadings(turns: readonly TraceReading[], runs: AgentRun[]): TraceReading {
  return {
    traceId: '',
    spanCount: turns.reduce((sum, { spanCount }) => sum + spanCount, 0),
    logCount: turns.reduce((sum, { logCount }) => sum + logCount, 0),
    runs,
    notScorable: null,
    notUnderstood: turns.flatMap(({ notUnderstood }) => notUnderstood),
  };
}

function describeOutcome(
  { key, decisions, scores, error }: TraceOutcome,
  mode: ScoringMode,
  { rule }: JudgeTerms,
  { stored, ...known }: Pick<PreviewedTrace, 'sessionId' | 'reading' | 'stored'>,
): PreviewedTrace {
  const rules = [...mode.rules, ...mode.sessionRules];
  const names = rules.flatMap(({ scorers }) => scorers.map((each) => each.name));
  const rows = new Set([...names, ...scores.map(({ scorer }) => scorer)]);
  return {
    ...known,
    key,
    decisions: decisions.map((row) => ({ ...row, rule: rule.name })),
    scores,
    stored: stored.filter(({ scorer, source }) => rows.has(scorer) && source !== 'human'),
    error,
  };
}

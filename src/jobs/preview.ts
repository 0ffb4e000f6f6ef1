import type { Decision } from '../domain/decision.ts';
import { WEEK_MS } from '../domain/durations.ts';
import type { AppError } from '../domain/errors.ts';
import type { Score } from '../domain/score.ts';
import type { AgentRun, TraceReading } from '../domain/trace/agent-run.ts';
import { readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import { createLookScoring, type Scoring } from '../scoring/scoring.ts';
import { previewMode, type ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { scoreSession, type SessionSettings } from '../scoring/sessions/score-session.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { SessionKey } from '../store/contracts/lists.ts';
import { joinTraceKey, MAX_KEYS, type TraceKey } from '../store/contracts/stores.ts';
import { forecastCascades, type CascadeForecast } from './cascade-forecast.ts';
import { estimateWork, PlannedWork, type CostEstimate, type LookParts } from './estimate.ts';
import {
  listSessions,
  listTraces,
  lookAtSessions,
  lookAtTraces,
  SESSION_PAGE,
  type LookedTarget,
} from './selection.ts';
import { countReason, type ReasonCounts } from './stored-job.ts';
import { eachSession, type TargetKey } from './targets.ts';

/** Start of the names that rules have in a preview. No decision has such a name, so that former decisions of the rule do not count. */
const PREVIEW_RULES = 'preview:';

/** Preview that somebody asks for. Times are Unix milliseconds. */
interface PreviewRequest {
  readonly rule: PreparedRule;
  readonly fromMs: number;
  readonly toMs: number;
  /** '' for all tenants. */
  readonly tenant: string;
  /** Traces or sessions that are really judged. */
  readonly sample: number;
  /** Ends the list of traces or sessions: then the counts are too small. */
  readonly listing: AbortSignal;
  /** Ends the verdicts: those that have not come are missing. */
  readonly judging: AbortSignal;
}

/** Preview of a rule over the traces of a range, or over its sessions for a rule on sessions. */
interface RulePreview {
  /** Traces of agents or models that began in the range, or sessions whose last turn did. */
  readonly matched: number;
  /** Number of targets that the rule would score, as far as this is known before their content is read. */
  readonly selected: number;
  /** Numbers of targets that it would not score, by the code of the reason; `arriving` counts those that live scoring waits for. */
  readonly left: ReasonCounts;
  /** False: the time was too short to list all of them, so that the numbers are too small. */
  readonly isComplete: boolean;
  /** Of the range. */
  readonly estimate: CostEstimate;
  /** Of the range, for each cascade and some shares of its second judge. */
  readonly cascade: readonly CascadeForecast[];
  /** Number of weeks of the range, to scale its numbers. */
  readonly weeks: number;
  readonly traces: readonly PreviewedTrace[];
}

/**
 * Looks at what a rule would do with the traces or sessions of a range, and judges some of them. It is the path of live scoring at its
 * first look, and stores no score, decision or judge call. What its verdicts cost is reserved and settled. Throws what the store throws.
 */
export async function previewRule(parts: LookParts, request: PreviewRequest): Promise<RulePreview> {
  const { rule, fromMs, toMs, tenant, listing } = request;
  const mode = modeOf(rule);
  const work = new PlannedWork();
  let [matched, left, isComplete] = [0, {} as ReasonCounts, true];
  for await (const look of lookAtPages(parts, mode, request)) {
    if (listing.aborted) {
      isComplete = false;
      break;
    }
    const targets = await look();
    matched += targets.length;
    for (const { key, rules, declined, isArriving } of targets) {
      const reasons = isArriving
        ? ['arriving']
        : declined.flatMap(({ rows }) => rows.map(({ reason }) => reason));
      left = reasons.reduce((counts, reason) => countReason(counts, readReasonCode(reason)), left);
      const pairs = rules.flatMap((selected) =>
        selected.scorers.map((scorer) => ({ rule: selected.rule.name, title: rule.name, scorer })),
      );
      work.add(key, isArriving ? [] : pairs);
    }
  }
  const limits = { share: 1, tracesPerSecond: null, traces: null };
  const estimate = await estimateWork(parts, work, { mode, tenant, ...limits });
  const [first] = work.list();
  const chosen = [...(first?.sample.values() ?? [])].slice(0, request.sample);
  const traces = await judgeTargets(parts, request, chosen);
  const judged = traces.map(({ scores, stored }) => [...scores, ...stored]);
  return {
    matched,
    selected: work.targets,
    left,
    isComplete,
    estimate,
    cascade: forecastCascades(rule.scorers, estimate, judged),
    weeks: (toMs - fromMs) / WEEK_MS,
    traces,
  };
}

function modeOf(rule: PreparedRule): ScoringMode {
  return previewMode([{ ...rule, name: PREVIEW_RULES + rule.name, paidBy: rule.name }]);
}

/** Scores traces or sessions as live scoring does, and stores nothing. Gives leased money back at the end. */
export async function judgeTargets(
  { scoring, sessions: settings }: Pick<LookParts, 'scoring' | 'sessions'>,
  { rule, judging }: Pick<PreviewRequest, 'rule' | 'judging'>,
  keys: readonly TargetKey[],
): Promise<PreviewedTrace[]> {
  const mode = modeOf(rule);
  const signals = [judging, ...(scoring.signal === undefined ? [] : [scoring.signal])];
  const own = { ...createLookScoring(scoring), signal: AbortSignal.any(signals) };
  const traces = keys.filter((key) => 'traceId' in key);
  const sessions = keys.filter((key) => 'sessionId' in key);
  const verdicts = [
    ...(await judgeTraces(own, mode, traces)),
    ...(await judgeSessions(own, mode, sessions, settings)),
  ];
  await scoring.budget.giveBack();
  return verdicts.map((each) => describeVerdict(each, rule));
}

/** Lists the targets of a range. Each page is a function that looks at its targets. */
async function* lookAtPages(
  { scoring, sessions: settings }: LookParts,
  mode: ScoringMode,
  { rule, fromMs, toMs, tenant }: PreviewRequest,
): AsyncGenerator<() => Promise<readonly LookedTarget[]>> {
  const range = { fromMs, toMs, ...(tenant === '' ? {} : { tenant }) };
  if (rule.target === 'session') {
    for await (const page of listSessions(scoring.stores, range, { after: null, limit: SESSION_PAGE })) {
      yield () => lookAtSessions(scoring, mode, page.targets, settings);
    }
    return;
  }
  for await (const page of listTraces(scoring.stores, range, { after: null, limit: MAX_KEYS })) {
    yield () => lookAtTraces(scoring, mode, page.targets);
  }
}

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

type Verdict = Pick<PreviewedTrace, 'sessionId' | 'reading' | 'stored'> & { readonly outcome: TraceOutcome };

async function judgeTraces(
  scoring: Scoring,
  mode: ScoringMode,
  keys: readonly TraceKey[],
): Promise<Verdict[]> {
  const { looking, readings } = watchReadings(scoring);
  const stored = await scoring.stores.scores.ofTraces(keys);
  const outcomes = await scoreTraces(looking, keys, mode);
  return outcomes.map((outcome) => ({
    outcome,
    sessionId: '',
    reading: readings.find(({ traceId }) => traceId === outcome.key.traceId) ?? null,
    stored: stored.get(joinTraceKey(outcome.key)) ?? [],
  }));
}

function judgeSessions(
  scoring: Scoring,
  mode: ScoringMode,
  keys: readonly SessionKey[],
  settings: SessionSettings,
): Promise<Verdict[]> {
  return eachSession(scoring, keys, async (key) => {
    const { looking, readings } = watchReadings(scoring);
    const sessions: AgentRun[] = [];
    const onSession: Scoring['onSession'] = ({ session }) => void sessions.push(session);
    const stored = await scoring.stores.sessions.scores(key);
    const outcome = await scoreSession({ ...looking, onSession }, key, mode, settings);
    const reading = sessions.length === 0 ? null : joinReadings(readings, sessions);
    return { outcome, sessionId: key.sessionId, reading, stored };
  });
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

function describeVerdict({ outcome, stored, ...parts }: Verdict, rule: PreparedRule): PreviewedTrace {
  const { key, decisions, scores, error } = outcome;
  const rows = new Set([...rule.scorers.map(({ name }) => name), ...scores.map(({ scorer }) => scorer)]);
  return {
    ...parts,
    key,
    decisions: decisions.map((row) => ({ ...row, rule: rule.name })),
    scores,
    stored: stored.filter(({ scorer, source }) => rows.has(scorer) && source !== 'human'),
    error,
  };
}

import { WEEK_MS } from '../domain/durations.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import { estimateCost, type CostEstimate } from '../estimate/estimate-cost.ts';
import type { Pace } from '../estimate/estimate-time.ts';
import { PlannedWork, type SampledCell } from '../estimate/planned-work.ts';
import { readHistory } from '../estimate/read-history.ts';
import type { Scoring } from '../scoring/scoring.ts';
import { previewMode, type ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { SessionSettings } from '../scoring/sessions/session-readiness.ts';
import type { JudgeUseStore } from '../store/contracts/judge-use.ts';
import { readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import type { BackfillRange } from '../backfill/backfill-spec.ts';
import { listTraces } from '../backfill/select-backfill.ts';
import { listSessions, SESSION_PAGE } from '../backfill/select-sessions.ts';
import { renderSessions, renderTraces, type RenderedRuns } from '../estimate/render-work.ts';
import { lookAtSessions } from '../estimate/select-sessions.ts';
import { lookAtTraces, type LookedTrace } from '../estimate/select-traces.ts';
import { joinSessionKey, type SessionKey } from '../store/contracts/sessions.ts';
import { joinTraceKey, MAX_KEYS, type TraceKey } from '../store/contracts/stores.ts';
import PQueue from 'p-queue';
import type { Decision } from '../domain/decision.ts';
import type { AppError } from '../domain/errors.ts';
import type { Score } from '../domain/score.ts';
import type { AgentRun, TraceReading } from '../domain/trace/agent-run.ts';
import { createLookScoring } from '../estimate/look-scoring.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import { scoreSession } from '../scoring/sessions/score-session.ts';
import { SESSIONS_AT_ONCE } from '../scoring/sessions/select-sessions.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';

/** Begin of the names that rules have in a preview. No decision has such a name, so that former decisions of the rule do not count. */
const PREVIEW_RULES = 'preview:';

/** Needs of a preview. */
export interface PreviewWork {
  readonly scoring: Scoring;
  readonly sessions: SessionSettings;
  readonly readSizes: JudgeUseStore['sizes'];
  readonly prices: PriceTable;
  /** Limits of the calls to a provider. */
  readonly findProvider: Pace['findProvider'];
}

/** Preview that somebody asks for. Times are Unix milliseconds. */
export interface AskedPreview {
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
export interface RulePreview {
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
  /** Number of weeks of the range, to scale its numbers. */
  readonly weeks: number;
  readonly traces: readonly PreviewedTrace[];
}

/**
 * Looks at what a rule would do with the traces or sessions of a range, and judges some of them. It is the path of live scoring at its
 * first look, and stores no score, decision or judge call. What its verdicts cost is reserved and settled. Throws what the store throws.
 */
export async function previewRule(work: PreviewWork, asked: AskedPreview): Promise<RulePreview> {
  const { scoring, sessions } = work;
  const { rule } = asked;
  const mode = previewMode([{ ...rule, name: PREVIEW_RULES + rule.name, paidBy: rule.name }]);
  return rule.target === 'session'
    ? previewTargets(work, asked, { mode, targets: createSessionTargets(scoring, mode, sessions) })
    : previewTargets(work, asked, { mode, targets: createTraceTargets(scoring, mode) });
}

/** Targets of a preview, and the mode of their scoring. */
interface Previewing<Key> {
  readonly mode: ScoringMode;
  readonly targets: PreviewTargets<Key>;
}

async function previewTargets<Key>(
  work: PreviewWork,
  asked: AskedPreview,
  previewing: Previewing<Key>,
): Promise<RulePreview> {
  const plan = await planRange(previewing.targets, asked);
  const estimate = await estimateRange(work, previewing, plan, asked);
  const [first] = plan.work.list();
  const chosen = [...(first?.sample.values() ?? [])].slice(0, asked.sample);
  return {
    matched: plan.matched,
    selected: plan.work.targets,
    left: plan.left,
    isComplete: plan.isComplete,
    estimate,
    weeks: (asked.toMs - asked.fromMs) / WEEK_MS,
    traces: await previewing.targets.judge(chosen, asked),
  };
}

interface PlannedRange<Key> {
  readonly matched: number;
  readonly left: ReasonCounts;
  readonly isComplete: boolean;
  readonly work: PlannedWork<Key>;
}

async function planRange<Key>(
  targets: PreviewTargets<Key>,
  { fromMs, toMs, tenant, listing, rule }: AskedPreview,
): Promise<PlannedRange<Key>> {
  const range = { fromMs, toMs, ...(tenant === '' ? {} : { tenant }) };
  const work = new PlannedWork<Key>();
  let [matched, left] = [0, {} as ReasonCounts];
  for await (const look of targets.list(range)) {
    if (listing.aborted) {
      return { matched, left, isComplete: false, work };
    }
    const looked = await look();
    matched += looked.length;
    for (const { key, rules, declined, isArriving } of looked) {
      if (isArriving) {
        left = countReasons(left, ['arriving']);
        continue;
      }
      left = countReasons(
        left,
        declined.flatMap(({ rows }) => rows.map(({ reason }) => reason)),
      );
      const cells = rules.flatMap((selected) =>
        selected.scorers.map((scorer) => ({ rule: selected.rule.name, title: rule.name, scorer })),
      );
      work.add(key, targets.name(key), cells);
    }
  }
  return { matched, left, isComplete: true, work };
}

async function estimateRange<Key>(
  { scoring, readSizes, prices, findProvider }: PreviewWork,
  { mode, targets }: Previewing<Key>,
  { work }: PlannedRange<Key>,
  { tenant }: AskedPreview,
): Promise<CostEstimate> {
  const cells = work.list();
  return estimateCost({
    cells,
    runs: await targets.render(cells),
    ...(await readHistory(scoring, cells, mode.rules, { readSizes, tenant })),
    prices,
    targets: work.targets,
    pace: { findProvider, places: scoring.judgeStock.concurrency, tracesPerSecond: null, traces: null },
  });
}

/** Numbers by the code of a reason. */
type ReasonCounts = Readonly<Record<string, number>>;

/** Adds reasons to counts by their codes. */
function countReasons(counts: ReasonCounts, reasons: readonly string[]): ReasonCounts {
  return reasons.reduce<ReasonCounts>((sums, reason) => {
    const code = readReasonCode(reason);
    return { ...sums, [code]: (sums[code] ?? 0) + 1 };
  }, counts);
}

/** Trace or session whose rules are selected, before its content is read. */
interface LookedTarget<Key> extends Pick<LookedTrace, 'rules' | 'declined' | 'isArriving'> {
  readonly key: Key;
}

/** Kind of targets of a preview: how they are listed, rendered and judged. */
interface PreviewTargets<Key> {
  /** Returns the same name for the same target, and for no other one. */
  name(key: Key): string;
  /** Lists the targets of a range. Each page is a function that looks at its targets. */
  list(range: BackfillRange): AsyncIterable<() => Promise<readonly LookedTarget<Key>[]>>;
  render(cells: readonly SampledCell<Key>[]): Promise<RenderedRuns>;
  judge(keys: readonly Key[], terms: JudgeTerms): Promise<PreviewedTrace[]>;
}

/** Creates the targets of a rule on traces or their parts. */
function createTraceTargets(scoring: Scoring, mode: ScoringMode): PreviewTargets<TraceKey> {
  const first = { after: null, limit: MAX_KEYS };
  return {
    name: joinTraceKey,
    async *list(range) {
      for await (const { traces } of listTraces(scoring.stores.spans, range, first)) {
        yield () => lookAtTraces(scoring, mode, traces);
      }
    },
    render: (cells) => renderTraces(scoring, cells, mode),
    judge: (keys, terms) => judgeTraces(scoring, mode, keys, terms),
  };
}

/** Creates the targets of a rule on sessions. A session is known by the runs that were read. */
function createSessionTargets(
  scoring: Scoring,
  mode: ScoringMode,
  settings: SessionSettings,
): PreviewTargets<SessionKey> {
  const first = { after: null, limit: SESSION_PAGE };
  return {
    name: joinSessionKey,
    async *list(range) {
      for await (const { sessions } of listSessions(scoring.stores, range, first)) {
        yield () => lookAtSessions(scoring, mode, { sessions, settings });
      }
    },
    render: (cells) => renderSessions(scoring, cells, mode, settings),
    judge: (keys, terms) => judgeSessions(scoring, mode, keys, { ...terms, settings }),
  };
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

/** Terms of the verdicts of a preview. */
interface JudgeTerms {
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

import { WHOLE_RULE } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import type { Scorer, ScorerRunInput, ScorerRunOptions, ScorerRunResult } from '../scorers/evals/scorer.ts';
import { withJudgeScope, type PlannedCall } from '../judge/judge-scope.ts';
import { readReasonCode, toFailure } from '../scoring/attempt/attempt-failure.ts';
import { scoreTraces } from '../scoring/score-traces.ts';
import { createLookScoring, type Scoring } from '../scoring/scoring.ts';
import { apiMode, type ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule, PreparedScorer } from '../scoring/select/rule.ts';
import { scoreSession, type SessionSettings } from '../scoring/sessions/score-session.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import { type CallSize, joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';
import { eachSession, nameTarget, sampleKeys, type TargetKey } from './targets.ts';

/** Most traces with stored calls that are rendered again for each scorer. */
const MOST_STORED = 60;

/** First questions of one run of a scorer, as they would be sent. */
export interface RenderedRun {
  readonly rule: string;
  readonly scorer: string;
  readonly traceId: string;
  /** Id of the score that the run would give. */
  readonly scoreId: string;
  /** UTF-8 bytes of the content of the run, as JSON. */
  readonly runBytes: number;
  /** Empty when the scorer needs no judge for this run; two for a cascade. */
  readonly calls: readonly PlannedCall[];
  /** Code of the reason for which the run gives no score; '' for a run that asks its judge, or gives a score. */
  readonly reason: string;
}

/** Derives the scoring of rendered questions: they take no place of a judge and use no earlier answers. */
function createRenderScoring(scoring: Scoring): Scoring {
  return {
    ...createLookScoring(scoring),
    judgeScope: { ...scoring.judgeScope, cache: undefined },
    judgeSlots: {
      concurrency: Number.MAX_SAFE_INTEGER,
      low: Number.MAX_SAFE_INTEGER,
      high: Number.MAX_SAFE_INTEGER,
      pending: () => 0,
      run: (_end, call) => call(),
      waitMs: () => 0,
      onLow: () => undefined,
    },
  };
}

/**
 * Renders the first questions of the scorers on sampled targets. They go through the path of live scoring, up to the call; nothing is
 * stored. Returns the runs by the name of the target: a run that came as several traces counts for the trace that owns it. Throws what the
 * store throws.
 */
export async function renderWork(
  scoring: Scoring,
  keys: readonly TargetKey[],
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<ReadonlyMap<string, readonly RenderedRun[]>> {
  const looking = createRenderScoring(scoring);
  const runs = new Map<string, RenderedRun[]>(keys.map((key) => [nameTarget(key), []]));
  const traces = keys.filter((key) => 'traceId' in key);
  const names = new Map(traces.map((key) => [key.traceId, nameTarget(key)]));
  const onRun = (run: RenderedRun) => void runs.get(names.get(run.traceId) ?? '')?.push(run);
  const rules = renderRules(mode.rules, onRun);
  const ofTraces = { ...mode, rules, sessionRules: [], write: false };
  const outcomes = await scoreTraces(looking, traces, ofTraces);
  throwFaults(outcomes);
  outcomes.forEach((outcome) => listUnscored(outcome, rules).forEach(onRun));
  const sessions = keys.filter((key) => 'sessionId' in key);
  const ofSessions = await eachSession(scoring, sessions, async (key) => {
    const own = runs.get(nameTarget(key)) ?? [];
    const sessionRules = renderRules(mode.sessionRules, (run) => own.push(run));
    const outcome = await scoreSession(looking, key, { ...mode, sessionRules, write: false }, settings);
    own.push(...listUnscored(outcome, sessionRules));
    return outcome;
  });
  throwFaults(ofSessions);
  return runs;
}

/**
 * Renders runs again of which calls are stored, so that their sizes are known. Returns them by the id of the score. A run that would not give
 * the same score any more, because the scorer has changed, has another id. A session has no trace and is left out.
 */
export async function renderStored(
  scoring: Scoring,
  sizes: readonly CallSize[],
  rules: readonly PreparedRule[],
): Promise<ReadonlyMap<string, RenderedRun>> {
  const keys = new Map<string, TraceKey>();
  for (const calls of Map.groupBy(sizes, ({ scorer }) => scorer).values()) {
    const traces = calls.filter(({ traceId }) => traceId !== '');
    const ofScorer = new Map(
      traces.map(({ tenant, traceId }) => [joinTraceKey({ tenant, traceId }), { tenant, traceId }]),
    );
    sampleKeys([...ofScorer.values()], MOST_STORED).forEach((key) => keys.set(joinTraceKey(key), key));
  }
  const runs = new Map<string, RenderedRun>();
  const rendered = renderRules(rules, (run) => {
    if (run.calls.length > 0) {
      runs.set(run.scoreId, run);
    }
  });
  const mode = apiMode(rendered, { write: false });
  throwFaults(await scoreTraces(createRenderScoring(scoring), [...keys.values()], mode));
  return runs;
}

/** Returns true for a scorer whose first question can be rendered. */
export function canRender({ isJudged, own }: PreparedScorer): boolean {
  return isJudged && own === undefined;
}

/**
 * Makes rules whose judged scorers stop at their first question: the question is rendered and redacted like a real one, and no call is
 * made. Code scorers and scorers of the user's own do not run, because the latter may call models by themselves.
 */
function renderRules(rules: readonly PreparedRule[], onRun: (run: RenderedRun) => void): PreparedRule[] {
  return rules.map((rule) => ({
    ...rule,
    scorers: rule.scorers.map((bound) => renderScorer(rule.name, bound, onRun)),
  }));
}

function renderScorer(
  rule: string,
  bound: PreparedScorer,
  onRun: (run: RenderedRun) => void,
): PreparedScorer {
  const run = async (input: ScorerRunInput, options?: ScorerRunOptions): Promise<ScorerRunResult> => {
    if (!canRender(bound)) {
      throw stopError();
    }
    const calls: PlannedCall[] = [];
    const onPlan = (call: PlannedCall) => {
      calls.push(call);
      throw stopError();
    };
    let reason = '';
    for (const scorer of bound.scorer.cascade?.judges ?? [bound.scorer]) {
      reason = await withJudgeScope({ onPlan }, () => runToQuestion(scorer, input, options));
    }
    const { targetTraceId: traceId, output, context, documents, tools } = input;
    onRun({
      rule,
      scorer: bound.name,
      traceId: typeof traceId === 'string' ? traceId : '',
      scoreId: input.runId ?? '',
      runBytes: Buffer.byteLength(JSON.stringify([input.input, output, context, documents, tools])),
      calls,
      reason: calls.length > 0 ? '' : reason,
    });
    throw stopError();
  };
  // The own members of a scorer may be getters, and stay as they are.
  const scorer = Object.create(bound.scorer, { run: { value: run } }) as PreparedScorer['scorer'];
  return { ...bound, scorer, own: undefined };
}

/** Runs a scorer until it asks. Returns the code of the reason when it ends without a score before. */
async function runToQuestion(
  scorer: Scorer,
  input: ScorerRunInput,
  options: ScorerRunOptions | undefined,
): Promise<string> {
  try {
    const { notScorable } = await scorer.run(input, options);
    return notScorable === undefined ? '' : 'not_scorable';
  } catch (error) {
    const failure = toFailure(error);
    return 'reason' in failure ? readReasonCode(failure.reason) : '';
  }
}

function stopError(): AppError {
  return new AppError('the question was only rendered', {
    code: 'cancelled',
    stage: 'judge',
    retryable: true,
  });
}

/** Lists the runs that a rule leaves without a score before a scorer begins. */
function listUnscored({ decisions }: TraceOutcome, rules: readonly PreparedRule[]): RenderedRun[] {
  const unscored = decisions.filter(({ status }) => status !== 'scored');
  return unscored.flatMap(({ rule, scorer, status, reason, traceId }) => {
    const scorers = rules.find(({ name }) => name === rule)?.scorers ?? [];
    return scorers
      .filter(({ name }) => scorer === WHOLE_RULE || scorer === name)
      .map(({ name }) => ({
        rule,
        scorer: name,
        traceId,
        scoreId: '',
        runBytes: 0,
        calls: [],
        reason: readReasonCode(reason) || status,
      }));
  });
}

/** Throws the error of an outcome that the store broke off: the rendered runs would be too few. */
function throwFaults(outcomes: readonly TraceOutcome[]): void {
  const broken = outcomes.find(({ error }) => error?.stage === 'store');
  if (broken?.error) {
    throw broken.error;
  }
}

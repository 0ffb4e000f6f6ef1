import {
  type ScoreLabel,
  type NamedScore,
  type ReasonError,
  type ScorerRunInput,
  type ScorerRunOptions,
  type ScorerRunResult,
  type StepName,
  findScoreLabel,
  isNotScorable,
  type JudgeConfig,
  type StepContext,
  type StepDefinition,
  type StepResults,
} from './scorer.ts';
import { InvalidInputError, readErrorMessage, AppError } from '../../domain/errors.ts';
import type { Verdict } from '../../domain/score.ts';
import { runPromptStep } from './run-prompt-step.ts';
import { ScorerError, ScorerRunError } from './scorer-error.ts';

/** Longest time that a timer of the platform can measure: about 24 days. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Verdicts and named scores of a finished run, beside its score. */
export interface RunDetails {
  /** Name of the band, where the findings decide it and not the score alone. */
  readonly label?: string | undefined;
  /** Mean probability of the winning options, for a judge that gives probabilities. */
  readonly confidence?: number | undefined;
  readonly verdicts?: readonly Verdict[] | undefined;
  readonly scores?: readonly NamedScore[] | undefined;
}

/** Parts of a scorer that a run needs. */
export interface ScorerPlan {
  readonly id: string;
  readonly steps: readonly StepDefinition[];
  readonly judge: JudgeConfig | undefined;
  readonly labels: readonly ScoreLabel[];
  readonly prepareRun: ((run: ScorerRunInput) => ScorerRunInput | Promise<ScorerRunInput>) | undefined;
  readonly namedScoresOnly: boolean;
  readonly details: ((context: StepContext) => RunDetails) | undefined;
}

interface RunState {
  readonly plan: ScorerPlan;
  readonly bounds: RunBounds | undefined;
  readonly run: ScorerRunInput & { runId: string };
  readonly results: StepResults;
  readonly completed: StepName[];
  readonly reached: ScorerRunResult;
}

/**
 * Runs a scorer's steps on one input. Rejects with a `ScorerRunError`. When only the reason step fails, the score stays and the
 * reason is missing.
 */
export async function runScorer(
  plan: ScorerPlan,
  input: ScorerRunInput,
  options: ScorerRunOptions,
): Promise<ScorerRunResult> {
  if (input === undefined || input === null) {
    throw new InvalidInputError(`run() of scorer "${plan.id}" needs an object with at least an output`);
  }
  if (!plan.steps.some((step) => step.name === 'generateScore')) {
    throw new ScorerError(`Scorer "${plan.id}" has no generateScore step: add one before calling run()`, {
      id: 'MASTR_SCORER_FAILED_TO_RUN_MISSING_GENERATE_SCORE',
      details: { scorerId: plan.id, steps: plan.steps.map((step) => step.name).join(', ') },
    });
  }
  const bounds = createRunBounds(plan.id, options);
  try {
    const prepared = await prepare(plan, input, bounds);
    const run = { ...prepared, runId: prepared.runId || crypto.randomUUID() };
    const state: RunState = { plan, bounds, run, results: {}, completed: [], reached: {} };
    for (const step of plan.steps) {
      if (!(await advance(state, step))) {
        break;
      }
    }
    return buildResult(state);
  } finally {
    bounds?.release();
  }
}

async function prepare(
  plan: ScorerPlan,
  input: ScorerRunInput,
  bounds: RunBounds | undefined,
): Promise<ScorerRunInput> {
  if (plan.prepareRun === undefined) {
    return input;
  }
  try {
    const work = plan.prepareRun(input);
    return bounds === undefined ? await work : await bounds.guard(work);
  } catch (error) {
    throw hookFailure(plan, 'prepareRun', error);
  }
}

/** Runs one step and stores its result. Returns false when no further step is needed. */
async function advance(state: RunState, step: StepDefinition): Promise<boolean> {
  const { plan, bounds, completed, reached } = state;
  const { name } = step;
  try {
    bounds?.signal.throwIfAborted();
    const work = runStep(state, step);
    const { value, prompt } = bounds === undefined ? await work : await bounds.guard(work);
    if (isNotScorable(value)) {
      const { reason } = value;
      reached.notScorable = reason === undefined ? { step: name } : { step: name, reason };
      return false;
    }
    recordStep(state, name, value);
    completed.push(name);
    if (prompt !== undefined) {
      reached[`${name}Prompt`] = prompt;
    }
    return true;
  } catch (error) {
    const cause: unknown = bounds?.signal.aborted ? bounds.signal.reason : error;
    if (name === 'generateReason' && !isCancelled(cause)) {
      reached.reasonError = toReasonError(cause);
      return false;
    }
    throw new ScorerRunError({
      scorerId: plan.id,
      steps: plan.steps.map((each) => each.name),
      failedStep: name,
      completedSteps: [...completed],
      result: { ...reached },
      cause,
    });
  }
}

async function runStep(
  { plan, bounds, run, results, reached }: RunState,
  step: StepDefinition,
): Promise<{ value: unknown; prompt?: string }> {
  const { name } = step;
  const known = { run, results, abortSignal: bounds?.signal };
  const context: StepContext =
    name === 'generateReason' ? Object.assign(known, { score: reached.score }) : known;
  if (typeof step.run === 'function') {
    return { value: await step.run(context) };
  }
  return runPromptStep(name, step.run, context, {
    scorerId: plan.id,
    scorerJudge: plan.judge,
    onExecution: (execution) => {
      const judge = (reached.judge ??= {});
      (judge[name] ??= { executions: [] }).executions.push(execution);
    },
  });
}

function recordStep({ plan, results, reached }: RunState, name: StepName, value: unknown): void {
  if (name === 'generateScore') {
    reached.score = readScore(plan.id, value);
    results.generateScoreStepResult = value;
  } else if (name === 'generateReason') {
    reached.reason = value;
  } else {
    results[`${name}StepResult`] = value;
    reached[`${name}StepResult`] = value;
  }
}

/**
 * Returns the score. Throws for any other value: an error is never a score, and neither is NaN or a text that looks like a
 * number.
 */
function readScore(scorerId: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) {
    return value;
  }
  const shown =
    typeof value === 'number' ? String(value) : `${JSON.stringify(value) ?? 'nothing'} (${typeof value})`;
  throw new AppError(`generateScore of scorer "${scorerId}" gave ${shown}; a score is a finite number`, {
    code: 'scorer_failed',
    stage: 'judge',
    retryable: false,
  });
}

function toReasonError(cause: unknown): ReasonError {
  const named = cause instanceof Error ? cause.name : 'Error';
  const plain = { name: named, message: readErrorMessage(cause) };
  return cause instanceof AppError ? { ...plain, code: cause.code } : plain;
}

function buildResult({ plan, run, results, reached }: RunState): ScorerRunResult {
  const { score } = reached;
  const result: ScorerRunResult = {
    ...run,
    reason: reached.reason,
    preprocessStepResult: reached.preprocessStepResult,
    analyzeStepResult: reached.analyzeStepResult,
    preprocessPrompt: reached.preprocessPrompt,
    analyzePrompt: reached.analyzePrompt,
    generateScorePrompt: reached.generateScorePrompt,
    generateReasonPrompt: reached.generateReasonPrompt,
  };
  if (reached.judge !== undefined) {
    result.judge = reached.judge;
  }
  if (reached.notScorable !== undefined || score === undefined) {
    return reached.notScorable === undefined ? result : { ...result, notScorable: reached.notScorable };
  }
  if (!plan.namedScoresOnly) {
    result.score = score;
    const label = findScoreLabel(score, plan.labels);
    Object.assign(result, label === undefined ? {} : { label });
  }
  if (reached.reasonError !== undefined) {
    result.reasonError = reached.reasonError;
  }
  return Object.assign(result, readDetails(plan, { run, results }));
}

function readDetails(plan: ScorerPlan, context: StepContext): Partial<ScorerRunResult> {
  try {
    const { label, confidence, verdicts, scores } = plan.details?.(context) ?? {};
    return {
      ...(label === undefined ? {} : { label }),
      ...(confidence === undefined ? {} : { confidence }),
      ...(verdicts === undefined ? {} : { verdicts }),
      ...(scores === undefined ? {} : { scores }),
    };
  } catch (error) {
    throw hookFailure(plan, 'details', error);
  }
}

function hookFailure(plan: ScorerPlan, hook: 'prepareRun' | 'details', cause: unknown): ScorerError {
  return new ScorerError(`Scorer "${plan.id}" failed in ${hook}: ${readErrorMessage(cause)}`, {
    id: 'MASTR_SCORER_FAILED_TO_RUN_WORKFLOW_FAILED',
    details: { scorerId: plan.id, failedStep: hook },
    cause,
  });
}

/** Bounds of one run: the caller's abort signal and a time limit. */
type RunBounds = NonNullable<ReturnType<typeof createRunBounds>>;

/** Creates the bounds of a run; undefined for a run without bounds. Throws `InvalidInputError` for an invalid time. */
function createRunBounds(scorerId: string, options: ScorerRunOptions) {
  const { abortSignal, timeoutMs } = options;
  if (abortSignal === undefined && timeoutMs === undefined) {
    return undefined;
  }
  if (timeoutMs !== undefined && !isTime(timeoutMs)) {
    throw new InvalidInputError(
      `timeoutMs of the run of scorer "${scorerId}" is ${String(timeoutMs)}; give milliseconds above 0, at most ${MAX_TIMEOUT_MS}`,
    );
  }
  const controller = new AbortController();
  const ended = Promise.withResolvers<never>();
  // A run without work in progress when it ends has nobody who waits for this.
  ended.promise.catch(() => undefined);
  controller.signal.addEventListener('abort', () => ended.reject(controller.signal.reason), { once: true });
  const onAbort = (): void => controller.abort(cancelled(scorerId, abortSignal?.reason));
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => controller.abort(timeoutError(scorerId, timeoutMs)), timeoutMs);
  if (abortSignal?.aborted) {
    onAbort();
  }
  abortSignal?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    /** Resolves with the result of the work, or rejects with the reason as soon as the run is aborted or out of time. */
    guard: <T>(work: T | Promise<T>) => Promise.race([work, ended.promise]),
    /** Removes the timers and listeners; call it when the run has ended, with or without success. */
    release: () => {
      clearTimeout(timer);
      abortSignal?.removeEventListener('abort', onAbort);
    },
  };
}

function isTime(timeoutMs: unknown): boolean {
  return typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS;
}

/** True for the error of a run that its caller cancelled. */
function isCancelled(error: unknown): boolean {
  return error instanceof AppError && error.code === 'cancelled';
}

function cancelled(scorerId: string, cause: unknown): AppError {
  return new AppError(`The run of scorer "${scorerId}" was cancelled`, {
    code: 'cancelled',
    stage: 'judge',
    retryable: true,
    cause,
  });
}

function timeoutError(scorerId: string, timeoutMs: number): AppError {
  return new AppError(`Scorer "${scorerId}" did not finish within ${timeoutMs} ms`, {
    code: 'scorer_failed',
    stage: 'judge',
    retryable: false,
    details: { timeoutMs },
  });
}

import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { ScorerRunResult, StepName } from './scorer.ts';

/** Stable ids of scorer errors; the same as in the evaluation API that users move from. */
export type ScorerErrorId =
  | 'MASTR_SCORER_FAILED_TO_CREATE_MISSING_ID'
  | 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_STEPS'
  | 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS'
  | 'MASTR_SCORER_FAILED_TO_RUN_MISSING_GENERATE_SCORE'
  | 'MASTR_SCORER_FAILED_TO_RUN_MISSING_MODEL_OR_INSTRUCTIONS'
  | 'MASTR_SCORER_FAILED_TO_RUN_WORKFLOW_FAILED';

interface ScorerErrorOptions {
  readonly id: ScorerErrorId;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** Error of a scorer that cannot be built or cannot run. It has the code of the error that caused it, where that has one. */
export class ScorerError extends AppError {
  override readonly name: string = 'ScorerError';
  readonly id: ScorerErrorId;
  readonly domain = 'SCORER';
  readonly category = 'USER';

  constructor(message: string, options: ScorerErrorOptions) {
    const cause = options.cause instanceof AppError ? options.cause : undefined;
    const creating = options.id.startsWith('MASTR_SCORER_FAILED_TO_CREATE');
    super(message, {
      code: cause?.code ?? (creating ? 'config_invalid' : 'scorer_failed'),
      stage: cause?.stage ?? (creating ? 'config' : 'judge'),
      retryable: cause?.retryable ?? false,
      retryAfterMs: cause?.retryAfterMs,
      details: options.details,
      cause: options.cause,
    });
    this.id = options.id;
  }

  toJSON(): Record<string, unknown> {
    const { name, id, code, domain, category, message, details } = this;
    return { name, id, code, domain, category, message, details };
  }
}

interface ScorerRunErrorOptions {
  readonly scorerId: string;
  readonly steps: readonly StepName[];
  readonly failedStep: StepName;
  readonly completedSteps: readonly StepName[];
  /** Partial result of the run: step results, prompts, judge calls, and the score if there was one. */
  readonly result: ScorerRunResult;
  readonly cause: unknown;
}

/** Error of a step: its message names the step and the cause, `result` contains the work done before it. */
export class ScorerRunError extends ScorerError {
  override readonly name = 'ScorerRunError';
  readonly failedStep: StepName;
  readonly completedSteps: readonly StepName[];
  readonly result: ScorerRunResult;

  constructor(options: ScorerRunErrorOptions) {
    const { scorerId, steps, failedStep, completedSteps } = options;
    const cause = options.cause instanceof Error ? options.cause : new Error(readErrorMessage(options.cause));
    super(`Scorer "${scorerId}" failed in ${failedStep}: ${cause.message}`, {
      id: 'MASTR_SCORER_FAILED_TO_RUN_WORKFLOW_FAILED',
      details: {
        scorerId,
        steps: steps.join(', '),
        failedStep,
        completedSteps: completedSteps.join(', '),
      },
      cause,
    });
    this.failedStep = failedStep;
    this.completedSteps = completedSteps;
    this.result = options.result;
  }
}

/** Stable ids of the errors of an evaluation. */
export type EvalErrorId =
  | 'RUN_EXPERIMENT_FAILED_NO_DATA_PROVIDED'
  | 'INVALID_DATA_ITEM'
  | 'NO_SCORERS_PROVIDED'
  | 'INVALID_AGENT_SCORERS'
  | 'INVALID_SCORER_THRESHOLD'
  | 'INVALID_CONCURRENCY'
  | 'INVALID_TARGET'
  | 'RUN_EXPERIMENT_TARGET_FAILED_TO_GENERATE_RESULT'
  | 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_RESULT'
  | 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_STEP_RESULT'
  | 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_TRAJECTORY'
  | 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_WORKFLOW_TRAJECTORY'
  | 'RUN_EXPERIMENT_ON_ITEM_COMPLETE_FAILED';

/** Error of an evaluation whose configuration is wrong, or of a part of it that failed. */
export class EvalError extends AppError {
  override readonly name = 'EvalError';
  readonly id: EvalErrorId;
  readonly domain = 'SCORER';
  readonly category = 'USER';

  constructor(
    message: string,
    options: {
      readonly id: EvalErrorId;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    },
  ) {
    const running = options.id.includes('_FAILED_TO_') || options.id.endsWith('_COMPLETE_FAILED');
    super(message, {
      code: running ? 'scorer_failed' : 'config_invalid',
      stage: running ? 'judge' : 'config',
      retryable: false,
      details: options.details,
      cause: options.cause,
    });
    this.id = options.id;
  }
}

import { AppError } from '../../domain/errors.ts';

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

import type { NotScorable } from './not-scorable.ts';
import type {
  ScorerMetadata,
  ScorerRunInput,
  ScorerRunOptions,
  ScorerRunResult,
  StepName,
} from './scorer.ts';
import type {
  FunctionStep,
  JudgeConfig,
  PromptStep,
  ReasonContext,
  ReasonPromptStep,
  ScorePromptStep,
  StepContext,
} from './scorer-steps.ts';

/** Value of a step as later steps see it. */
type Settled<T> = Exclude<Awaited<T>, NotScorable>;

/** The parts of a scorer that are there whatever steps it has. */
interface ScorerHead extends ScorerMetadata {
  readonly id: string;
  readonly type: unknown;
  readonly source: string;
  readonly judge: JudgeConfig | undefined;
  /** The configuration that the scorer was created with. */
  readonly config: {
    readonly id: string;
    readonly name: string;
    readonly description?: string;
    readonly type?: unknown;
    readonly judge?: JudgeConfig;
  };
  getSteps(): { name: StepName; type: string; description?: string }[];
  /** Safe to log: no model object, no instructions. */
  toJSON(): Record<string, unknown>;
}

/** No step yet. */
export interface NewScorer<TRun extends ScorerRunInput> extends PreprocessedScorer<TRun, object> {
  preprocess<T>(
    step: FunctionStep<StepContext<TRun, object>, T> | PromptStep<StepContext<TRun, object>, T>,
  ): PreprocessedScorer<TRun, { preprocessStepResult: Settled<T> }>;
}

export interface PreprocessedScorer<
  TRun extends ScorerRunInput,
  TResults extends object,
> extends AnalyzedScorer<TRun, TResults> {
  analyze<T>(
    step: FunctionStep<StepContext<TRun, TResults>, T> | PromptStep<StepContext<TRun, TResults>, T>,
  ): AnalyzedScorer<TRun, TResults & { analyzeStepResult: Settled<T> }>;
}

export interface AnalyzedScorer<TRun extends ScorerRunInput, TResults extends object> extends ScorerHead {
  generateScore<T = unknown>(
    step:
      | FunctionStep<StepContext<TRun, TResults>, number | NotScorable | Promise<number | NotScorable>>
      | ScorePromptStep<StepContext<TRun, TResults>, T>,
  ): ScoredScorer<TRun, TResults>;
}

/** Has a score step: can run. */
export interface ScoredScorer<TRun extends ScorerRunInput, TResults extends object> extends RunnableScorer<
  TRun,
  TResults
> {
  generateReason(
    step:
      | FunctionStep<ReasonContext<TRun, TResults & { generateScoreStepResult: number }>, unknown>
      | ReasonPromptStep<ReasonContext<TRun, TResults & { generateScoreStepResult: number }>>,
  ): RunnableScorer<TRun, TResults>;
}

export interface RunnableScorer<
  TRun extends ScorerRunInput = ScorerRunInput,
  TResults extends object = object,
> extends ScorerHead {
  /** Scores one run. Rejects with a `ScorerRunError`. */
  run(input: TRun, options?: ScorerRunOptions): Promise<ScorerRunResult & Partial<TResults>>;
}

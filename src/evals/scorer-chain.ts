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

/** Result of a step in the form that later steps get. */
type Settled<T> = Exclude<Awaited<T>, NotScorable>;

/** Members of every scorer, independent of its steps. */
interface ScorerHead extends ScorerMetadata {
  readonly id: string;
  readonly type: unknown;
  readonly source: string;
  readonly judge: JudgeConfig | undefined;
  /** The configuration with which the scorer was created. */
  readonly config: {
    readonly id: string;
    readonly name: string;
    readonly description?: string;
    readonly type?: unknown;
    readonly judge?: JudgeConfig;
  };
  getSteps(): { name: StepName; type: string; description?: string }[];
  /** Returns a description that is safe to log: without model object and instructions. */
  toJSON(): Record<string, unknown>;
}

/** A scorer without steps. */
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

/** A scorer with a score step: it can run. */
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

import type { NotScorable } from './not-scorable.ts';
import type { SdkSchema, StandardSchema } from './schema-forms.ts';
import type { ScorerRunInput, StepName } from './scorer.ts';
import type { JudgeModel, JudgeSchema, JudgeSettings } from '../judge/judge.ts';

/** Judge model and its instructions; a step may override each field. */
export interface JudgeConfig {
  /** `provider/model`, or a language model object of the AI SDK. */
  readonly model?: JudgeModel;
  /** The system message. Data belongs into the prompt, never here. */
  readonly instructions?: string;
  /** Task for the judge, sent after the prompt. It lets several questions about the same data begin alike. */
  readonly task?: string;
  readonly modelSettings?: Omit<JudgeSettings, 'abortSignal'>;
}

/** Results of the earlier steps, under the names by which later steps read them. */
export interface StepResults {
  preprocessStepResult?: unknown;
  analyzeStepResult?: unknown;
  generateScoreStepResult?: unknown;
}

/** Argument of every step. */
export interface StepContext<TRun = ScorerRunInput, TResults = StepResults> {
  readonly run: TRun & { runId: string };
  readonly results: TResults;
  /** Aborted when the run is cancelled or out of time; undefined for a run without bounds. */
  readonly abortSignal?: AbortSignal | undefined;
}

export interface ReasonContext<TRun = ScorerRunInput, TResults = StepResults> extends StepContext<
  TRun,
  TResults
> {
  readonly score: number;
}

/** A JSON Schema as plain data. */
type PlainJsonSchema = Readonly<Record<string, unknown>>;
/**
 * Schema of a reply: a zod schema, a JSON Schema with a check of its own, a schema of any library that follows
 * standardschema.dev, a schema of the AI SDK, or a bare JSON Schema. Members of a reply that the schema does not name are
 * dropped.
 */
export type OutputSchema<T> = JudgeSchema<T> | StandardSchema<T> | SdkSchema<T> | PlainJsonSchema;

interface PromptBase<TContext> {
  readonly description: string;
  /** Returns the user message, or `notScorable()` when the run cannot be scored. */
  createPrompt(context: TContext): string | NotScorable | Promise<string | NotScorable>;
  readonly judge?: JudgeConfig;
}

/** Asks the judge for an object. */
export interface PromptStep<TContext, T> extends PromptBase<TContext> {
  readonly outputSchema: OutputSchema<T> | ((context: TContext) => OutputSchema<T>);
  /** Answers without the judge when there is nothing to ask: returns a value or `notScorable()`. Undefined asks the judge. */
  withoutJudge?(context: TContext): T | NotScorable | undefined | Promise<T | NotScorable | undefined>;
}

/** Asks the judge for the score: `{ score }` by default, else `calculateScore` of a reply in `outputSchema`. */
export interface ScorePromptStep<TContext, T = unknown> extends PromptBase<TContext> {
  readonly outputSchema?: OutputSchema<T>;
  calculateScore?(context: TContext & { analyzeStepResult: T }): number | Promise<number>;
}

/** Asks the judge for the explanation, as text. */
export interface ReasonPromptStep<TContext> extends PromptBase<TContext> {
  /** Returns an explanation that needs no judge; undefined asks the judge. */
  withoutJudge?(context: TContext): string | undefined | Promise<string | undefined>;
}

/** A step as a function. It may be async; later steps get the resolved value. */
export type FunctionStep<TContext, T> = (context: TContext) => T;

/** A step without its types, as the runner uses it. */
export interface StepDefinition {
  readonly name: StepName;
  readonly run: FunctionStep<StepContext, unknown> | ErasedPromptStep;
}

export interface ErasedPromptStep extends PromptBase<StepContext> {
  readonly outputSchema?: OutputSchema<unknown> | ((context: StepContext) => OutputSchema<unknown>);
  withoutJudge?(context: StepContext): unknown;
  calculateScore?(context: StepContext & { analyzeStepResult: unknown }): number | Promise<number>;
}

import { findBand } from '../../domain/agreement/directed-score.ts';
import type { Verdict } from '../../domain/score.ts';
import type { DecisionAnswers, Decisions } from '../../judge/decisions.ts';
import type { JudgeExecution } from '../../judge/judge-execution.ts';
import type { JudgeModel, JudgeSettings } from '../../judge/judge.ts';
import type { JudgeSchema } from '../../judge/reply/judge-schema.ts';

/** An unchecked value, like the result of JSON.parse: its reader decides how to use it. */
export type Unchecked = ReturnType<typeof JSON.parse>;

/** Shared by all copies of this module, so that one copy recognises the results of scorers built with another. */
const NOT_SCORABLE = Symbol.for('spanscore.not-scorable');

/** Result of a function step when the run cannot be scored: later steps are skipped and there is no score. */
export interface NotScorable {
  readonly [NOT_SCORABLE]: true;
  /** One sentence for people. */
  readonly reason?: string;
}

/** Marks a run as one that this scorer cannot score. It is neither an error nor a score of 0. */
export function notScorable(reason?: string): NotScorable {
  return reason === undefined ? { [NOT_SCORABLE]: true } : { [NOT_SCORABLE]: true, reason };
}

/** True for a result of `notScorable`. */
export function isNotScorable(value: unknown): value is NotScorable {
  return typeof value === 'object' && value !== null && NOT_SCORABLE in value;
}

/** Result of a Standard Schema's validation. */
type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A schema of any library that follows standardschema.dev, with a JSON form where the library can write one. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<T> | Promise<StandardResult<T>>;
    readonly jsonSchema?: { input(options: { readonly target: 'draft-2020-12' }): Record<string, unknown> };
  };
}

/** A schema of the AI SDK. Replies are checked against its JSON Schema, because its own check may be asynchronous. */
export interface SdkSchema<T> {
  /** Used for its type only. */
  readonly _type: T;
  readonly jsonSchema: object | PromiseLike<object>;
}

/** The four steps of a scorer, in the only order in which they may be chained. */
export const STEP_NAMES = ['preprocess', 'analyze', 'generateScore', 'generateReason'] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** Input of a scorer. Further properties are passed to the steps and to the result. */
export interface ScorerRunInput<TInput = unknown, TOutput = unknown> {
  input?: TInput;
  output: TOutput;
  /** Id of the run; a random UUID when missing or empty. */
  runId?: string;
  groundTruth?: unknown;
  requestContext?: unknown;
  expectedTrajectory?: unknown;
  /** Evidence of the run: tool results, then documents. It is the default context of groundedness scorers. */
  context?: readonly string[];
  [extra: string]: unknown;
}

/** Bounds of one run. */
export interface ScorerRunOptions {
  /** Ends the run with a `cancelled` error. */
  readonly abortSignal?: AbortSignal | undefined;
  /** Longest time of the whole run, milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** One of several scores from one run of a scorer. */
export interface NamedScore {
  readonly name: string;
  readonly score: number;
  /** Mean probability of the winning options, for a judge that gives probabilities. */
  readonly confidence?: number;
  readonly label?: string;
  readonly reason?: string;
  readonly higherIsBetter?: boolean;
  readonly range?: readonly [number, number];
  /** Findings from which this score is counted. */
  readonly verdicts?: readonly Verdict[];
}

/** Questions of one step to the judge, one entry each. */
export interface JudgeStepTelemetry {
  readonly executions: JudgeExecution[];
}

/** Reason why a score has no explanation. */
export interface ReasonError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

/** The run in the form that the steps got, with the results of the steps. */
export interface ScorerRunResult {
  runId?: string;
  /** A finite number; absent when `notScorable` is present. */
  score?: number;
  /** Usually text; a function step may return anything. */
  reason?: unknown;
  /** Name of the score's band, for scorers that declare `labels`. */
  label?: string;
  /** Mean probability of the winning options, for a judge that gives probabilities. */
  confidence?: number;
  preprocessStepResult?: unknown;
  analyzeStepResult?: unknown;
  /** The prompts that prompt steps sent. */
  preprocessPrompt?: string | undefined;
  analyzePrompt?: string | undefined;
  generateScorePrompt?: string | undefined;
  generateReasonPrompt?: string | undefined;
  judge?: Partial<Record<StepName, JudgeStepTelemetry>>;
  notScorable?: { step: StepName; reason?: string };
  /** Present when the score exists but the reason step failed. */
  reasonError?: ReasonError;
  /** The judge's findings, statement by statement. */
  verdicts?: readonly Verdict[];
  /** Part of two judges in the scores: which was asked last, how probable the second was, and what the first one gave by name. */
  cascade?: {
    readonly rung: 1 | 2;
    readonly probability: number;
    readonly firstScores: ReadonlyMap<string, number>;
  };
  /** Further named scores of the same run. */
  scores?: readonly NamedScore[];
  [extra: string]: unknown;
}

/**
 * Bands of a score; the first match wins. A band matches up to `upTo` (included) or below `below` (excluded); a band with
 * neither matches the rest.
 */
export interface ScoreLabel {
  readonly label: string;
  readonly upTo?: number;
  readonly below?: number;
}

/** Facts about a scorer that readers of its scores need. */
export interface ScorerMetadata {
  readonly name: string;
  readonly description: string;
  /** Null when the scorer does not declare it. */
  readonly higherIsBetter: boolean | null;
  /** Lowest and highest possible score; null when the scorer does not declare them. */
  readonly range: readonly [number, number] | null;
  readonly labels: readonly ScoreLabel[];
  /** Changes whenever equal input may get another score. */
  readonly version: string;
  /** Version of the prompts; '' for a scorer without a judge. */
  readonly promptVersion: string;
  /** The configured judge, `provider/model`; '' for a scorer without a judge. */
  readonly judgeModel: string;
  /** Options of the scorer as plain JSON; functions by their source text. */
  readonly options: unknown;
}

/** Bounds of the probability that the second judge of two is asked. */
export interface CascadeTerms {
  /** Mean share of the runs. */
  readonly share: number;
  /** Least probability of a run. */
  readonly floor: number;
}

/** A scorer: any object with `id` and `run`. Everything else is optional, so that foreign scorers fit. */
export interface Scorer extends Partial<ScorerMetadata> {
  readonly id: string;
  /** Two scorers that this one joins, which differ in their judge. */
  readonly cascade?: { readonly judges: readonly [Scorer, Scorer]; readonly terms: CascadeTerms };
  run(input: ScorerRunInput, options?: ScorerRunOptions): Promise<ScorerRunResult>;
}

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

/** Questions to a decision judge, and the reader of its answers. */
export interface DecisionForm<T> extends Decisions {
  readonly read: (answers: DecisionAnswers) => T | NotScorable;
  /** Returns questions that follow from what was found. Where they fail, it stays as it is. */
  readonly next?: ((found: T) => DecisionForm<T> | undefined) | undefined;
}

/** Asks a decision judge typed questions about one state. */
export interface DecisionStep<TContext, T> {
  readonly description: string;
  readonly judge?: JudgeConfig;
  /** Returns the questions, or `notScorable()` when the run cannot be scored. */
  decide(context: TContext): DecisionForm<T> | NotScorable | Promise<DecisionForm<T> | NotScorable>;
}

/** A step as a function. It may be async; later steps get the resolved value. */
export type FunctionStep<TContext, T> = (context: TContext) => T;

/** A step without its types, as the runner uses it. */
export interface StepDefinition {
  readonly name: StepName;
  readonly run: FunctionStep<StepContext, unknown> | ErasedPromptStep | DecisionStep<StepContext, unknown>;
}

export interface ErasedPromptStep extends PromptBase<StepContext> {
  readonly outputSchema?: OutputSchema<unknown> | ((context: StepContext) => OutputSchema<unknown>);
  withoutJudge?(context: StepContext): unknown;
  calculateScore?(context: StepContext & { analyzeStepResult: unknown }): number | Promise<number>;
}

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
    step:
      | FunctionStep<StepContext<TRun, TResults>, T>
      | PromptStep<StepContext<TRun, TResults>, T>
      | DecisionStep<StepContext<TRun, TResults>, T>,
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

/** Finds the name of the band that contains a score; undefined when no band does. */
export function findScoreLabel(score: number, labels: readonly ScoreLabel[]): string | undefined {
  return labels[findBand(score, labels)]?.label;
}

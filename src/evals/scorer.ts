import type { Verdict } from '../domain/score.ts';
import type { JudgeExecution } from '../judge/judge.ts';

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

/** A scorer: any object with `id` and `run`. Everything else is optional, so that foreign scorers fit. */
export interface Scorer extends Partial<ScorerMetadata> {
  readonly id: string;
  run(input: ScorerRunInput, options?: ScorerRunOptions): Promise<ScorerRunResult>;
}

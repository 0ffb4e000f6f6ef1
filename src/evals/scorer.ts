import type { Verdict } from '../domain/score.ts';
import type { JudgeExecution } from '../judge/judge.ts';

/** The four steps of a scorer, in the only order that they may be chained in. */
export const STEP_NAMES = ['preprocess', 'analyze', 'generateScore', 'generateReason'] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** Input of a scorer. Every further property reaches the steps and the result. */
export interface ScorerRunInput<TInput = unknown, TOutput = unknown> {
  input?: TInput;
  output: TOutput;
  /** Kept when non-empty, else a random UUID. */
  runId?: string;
  groundTruth?: unknown;
  requestContext?: unknown;
  expectedTrajectory?: unknown;
  /** Evidence of the run (tool results, then documents): the default context of groundedness scorers. */
  context?: readonly string[];
  [extra: string]: unknown;
}

/** Bounds of one run. */
export interface ScorerRunOptions {
  /** Ends the run with a `cancelled` error. */
  readonly abortSignal?: AbortSignal | undefined;
  /** The longest that the whole run may take, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** One of several scores that one run of a scorer yields. */
export interface NamedScore {
  readonly name: string;
  readonly score: number;
  readonly label?: string;
  readonly reason?: string;
  readonly higherIsBetter?: boolean;
  readonly range?: readonly [number, number];
  /** The findings that this score is counted from. */
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

/** The run, as the steps saw it, with what the steps made of it. */
export interface ScorerRunResult {
  runId?: string;
  /** A finite number; no such key when `notScorable` is there. */
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
  /** The score stands, but the reason step failed. */
  reasonError?: ReasonError;
  /** The judge's findings, statement by statement. */
  verdicts?: readonly Verdict[];
  /** Further named scores of the same run. */
  scores?: readonly NamedScore[];
  [extra: string]: unknown;
}

/** Bands of a score, first match wins: at most `upTo`, or less than `below`; one with neither takes the rest. */
export interface ScoreLabel {
  readonly label: string;
  readonly upTo?: number;
  readonly below?: number;
}

/** Facts about a scorer that a reader of its scores needs. */
export interface ScorerMetadata {
  readonly name: string;
  readonly description: string;
  /** Null when the scorer did not say. */
  readonly higherIsBetter: boolean | null;
  /** Lowest and highest possible score, null when the scorer did not say. */
  readonly range: readonly [number, number] | null;
  readonly labels: readonly ScoreLabel[];
  /** Changes whenever equal material may get another score. */
  readonly version: string;
  /** Version of the prompts, '' for a scorer that asks no judge. */
  readonly promptVersion: string;
  /** The configured judge, `provider/model`, '' for a scorer that asks no judge. */
  readonly judgeModel: string;
  /** Options of the scorer as plain JSON; functions by their source text. */
  readonly options: unknown;
}

/** Anything that scores a run. Everything but `id` and `run` is optional, so that foreign scorers fit. */
export interface Scorer extends Partial<ScorerMetadata> {
  readonly id: string;
  run(input: ScorerRunInput, options?: ScorerRunOptions): Promise<ScorerRunResult>;
}

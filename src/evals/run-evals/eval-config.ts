import type { Scorer, ScorerRunResult } from '../scorer.ts';
import type { WorkflowStepResult } from '../trajectory/extract-workflow-trajectory.ts';
import type { Unchecked } from '../unchecked.ts';
import type { EvalErrorId } from './eval-error.ts';

/** Lowest mean score that passes, or a range with both ends included. Between 0 and 1. */
export type ThresholdConfig = number | { readonly min?: number; readonly max?: number };

/** Thresholds by score name, for a scorer that gives several scores. */
export type NamedThresholds = Readonly<Record<string, ThresholdConfig>>;

/** A scorer, or a scorer with a threshold for its mean score over all items. */
export type ScorerEntry =
  | Scorer
  | { readonly scorer: Scorer; readonly threshold?: ThresholdConfig | NamedThresholds };

/** One turn of a conversation with scorers of its own; they get this turn only. */
export interface EvalTurn {
  readonly input: unknown;
  readonly gates?: readonly Scorer[];
  readonly scorers?: readonly ScorerEntry[];
}

/** An item with one of `input`, `inputs` (turns of one conversation) and `turns`; a workflow accepts `input` only. */
export interface EvalItem {
  readonly input?: unknown;
  readonly inputs?: readonly unknown[];
  readonly turns?: readonly EvalTurn[];
  readonly groundTruth?: unknown;
  readonly expectedTrajectory?: unknown;
  readonly requestContext?: unknown;
  /** Further options for the start of a workflow. */
  readonly startOptions?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** An agent: any object whose `generate` returns the messages that scorers read. */
export interface EvalAgent {
  generate(
    ...args: never[]
  ): Promise<{ readonly scoringData?: { readonly input?: unknown; readonly output?: unknown } | undefined }>;
}

/** Result of a run of a workflow. */
export interface EvalWorkflowResult {
  readonly status: string;
  readonly result?: unknown;
  readonly steps?: Readonly<Record<string, WorkflowStepResult>>;
  readonly stepExecutionPath?: readonly string[];
}

/** A workflow: any object that creates runs which can be started. */
export interface EvalWorkflow {
  createRun(...args: never[]): EvalWorkflowRun | Promise<EvalWorkflowRun>;
}
export interface EvalWorkflowRun {
  start(...args: never[]): Promise<EvalWorkflowResult>;
}

export interface AgentScorers {
  readonly agent?: readonly ScorerEntry[];
  /** Scorers that get the steps of the agent as `run.output`. */
  readonly trajectory?: readonly ScorerEntry[];
}
export interface WorkflowScorers {
  readonly workflow?: readonly ScorerEntry[];
  /** Scorers by step id; they run only when the step succeeded with an output. */
  readonly steps?: Readonly<Record<string, readonly ScorerEntry[]>>;
  readonly trajectory?: readonly ScorerEntry[];
}

export interface RunEvalsConfig<TItem extends EvalItem = EvalItem> {
  readonly data: readonly TItem[];
  readonly target: EvalAgent | EvalWorkflow;
  readonly scorers?: readonly ScorerEntry[] | AgentScorers | WorkflowScorers | undefined;
  /** Scorers whose mean score must be 1. A gate that fails, or gives no score of its own, counts as 0. */
  readonly gates?: readonly Scorer[];
  /** Further options for every call of the target. */
  readonly targetOptions?: Readonly<Record<string, unknown>>;
  /** Called and awaited after each item that the target answered. */
  readonly onItemComplete?: (done: {
    readonly item: TItem;
    /** Result object of the agent or workflow. */
    readonly targetResult: Unchecked;
    /** Results by scorer id, or by group and then by id. */
    readonly scorerResults: Readonly<Record<string, Unchecked>>;
  }) => void | Promise<void>;
  /** Items that run at the same time. Default 1. */
  readonly concurrency?: number;
  /** True: reject with the first failure instead of collecting failures. Default false. */
  readonly failFast?: boolean;
  /** Ends the evaluation: no further item starts, and running scorers are cancelled. */
  readonly abortSignal?: AbortSignal;
}

/** `failed`: a gate did not pass; `scored`: a threshold was missed; `passed`: neither. */
export type EvalVerdict = 'passed' | 'scored' | 'failed';

export interface GateResult {
  id: string;
  passed: boolean;
  score: number;
}
export interface ThresholdResult {
  id: string;
  passed: boolean;
  averageScore: number;
  threshold: ThresholdConfig;
}

/** Scores of one turn, over all items that have this turn. */
export interface TurnResult {
  index: number;
  gateResults?: GateResult[];
  thresholdResults?: ThresholdResult[];
  scores?: Record<string, number>;
}

/** A failure of one item or one scorer; the evaluation continued. */
export interface EvalFailure {
  /** Index of the item in `data`. */
  item: number;
  id: EvalErrorId;
  /** The scorer that failed; absent when the target failed. */
  scorerId?: string;
  /** One sentence for people. */
  message: string;
  error: Error;
}

/**
 * Means over all items: numbers by scorer id, or by group (`agent`, `workflow`, `trajectory`, `steps`) and then by id. Several
 * scores of one scorer are listed by their own names. The type is open because the caller knows which form its scorers give.
 */
export type EvalScores = Readonly<Record<string, Unchecked>>;

export interface RunEvalsResult {
  scores: EvalScores;
  summary: {
    totalItems: number;
    /** Number of runs that could not be scored, by scorer or gate. */
    notScorable?: Record<string, number>;
  };
  /** Present when a gate or a threshold had a score to compare. */
  verdict?: EvalVerdict;
  gateResults?: GateResult[];
  thresholdResults?: ThresholdResult[];
  turnResults?: TurnResult[];
  /** Failures in the order of items; absent without a failure. */
  errors?: EvalFailure[];
}

/** Results of one item's scorers by id, grouped as the scorers were given. */
export type ScorerResults = Record<string, ScorerRunResult | Record<string, unknown>>;

import type { Scorer, ScorerRunResult } from '../scorer.ts';
import type { WorkflowStepResult } from '../trajectory/extract-workflow-trajectory.ts';
import type { Unchecked } from '../unchecked.ts';
import type { EvalErrorId } from './eval-error.ts';

/** The least mean score that will do, or a range, both ends included. Between 0 and 1. */
export type ThresholdConfig = number | { readonly min?: number; readonly max?: number };

/** Thresholds of a scorer that gives several scores, by their names. */
export type NamedThresholds = Readonly<Record<string, ThresholdConfig>>;

/** A scorer, or one whose mean score over all items has to keep to a threshold. */
export type ScorerEntry =
  | Scorer
  | { readonly scorer: Scorer; readonly threshold?: ThresholdConfig | NamedThresholds };

/** One turn of a conversation with scorers of its own, which see this turn only. */
export interface EvalTurn {
  readonly input: unknown;
  readonly gates?: readonly Scorer[];
  readonly scorers?: readonly ScorerEntry[];
}

/** One of `input`, `inputs` (turns of one conversation) and `turns`; a workflow takes `input` only. */
export interface EvalItem {
  readonly input?: unknown;
  readonly inputs?: readonly unknown[];
  readonly turns?: readonly EvalTurn[];
  readonly groundTruth?: unknown;
  readonly expectedTrajectory?: unknown;
  readonly requestContext?: unknown;
  /** Further options of a workflow's start. */
  readonly startOptions?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** An agent: whatever answers `generate` with the messages that scorers take. */
export interface EvalAgent {
  generate(
    ...args: never[]
  ): Promise<{ readonly scoringData?: { readonly input?: unknown; readonly output?: unknown } | undefined }>;
}

/** Result of a workflow's run. */
export interface EvalWorkflowResult {
  readonly status: string;
  readonly result?: unknown;
  readonly steps?: Readonly<Record<string, WorkflowStepResult>>;
  readonly stepExecutionPath?: readonly string[];
}

/** A workflow: whatever makes runs that can be started. */
export interface EvalWorkflow {
  createRun(...args: never[]): EvalWorkflowRun | Promise<EvalWorkflowRun>;
}
export interface EvalWorkflowRun {
  start(...args: never[]): Promise<EvalWorkflowResult>;
}

export interface AgentScorers {
  readonly agent?: readonly ScorerEntry[];
  /** Get the steps that the agent took as `run.output`. */
  readonly trajectory?: readonly ScorerEntry[];
}
export interface WorkflowScorers {
  readonly workflow?: readonly ScorerEntry[];
  /** By step id; asked only when the step succeeded with an output. */
  readonly steps?: Readonly<Record<string, readonly ScorerEntry[]>>;
  readonly trajectory?: readonly ScorerEntry[];
}

export interface RunEvalsConfig<TItem extends EvalItem = EvalItem> {
  readonly data: readonly TItem[];
  readonly target: EvalAgent | EvalWorkflow;
  readonly scorers?: readonly ScorerEntry[] | AgentScorers | WorkflowScorers | undefined;
  /** Scorers whose mean score has to be 1; one that fails, or gives no score of its own, counts as 0. */
  readonly gates?: readonly Scorer[];
  /** Further options of every call of the target. */
  readonly targetOptions?: Readonly<Record<string, unknown>>;
  /** Awaited after each item that the target answered. */
  readonly onItemComplete?: (done: {
    readonly item: TItem;
    /** Own result of the agent or workflow. */
    readonly targetResult: Unchecked;
    /** Results by scorer id, or by group and then by id. */
    readonly scorerResults: Readonly<Record<string, Unchecked>>;
  }) => void | Promise<void>;
  /** Items under way at once. Default 1. */
  readonly concurrency?: number;
  /** Reject with the first failure instead of collecting it. Default false. */
  readonly failFast?: boolean;
  /** Ends the evaluation: no further item is begun, runs of scorers are cancelled. */
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

/** Something that failed while the rest went on. */
export interface EvalFailure {
  /** Index of the item in `data`. */
  item: number;
  id: EvalErrorId;
  /** The scorer that failed, unless the target did. */
  scorerId?: string;
  /** One sentence for a person. */
  message: string;
  error: Error;
}

/**
 * Means over all items: numbers by scorer id, or by group (`agent`, `workflow`, `trajectory`, `steps`) and then by id; several
 * scores of one scorer by their own names. Whoever gave the scorers knows which it is.
 */
export type EvalScores = Readonly<Record<string, Unchecked>>;

export interface RunEvalsResult {
  scores: EvalScores;
  summary: {
    totalItems: number;
    /** By scorer or gate: how many runs it could not score. */
    notScorable?: Record<string, number>;
  };
  /** There when a gate or a threshold had something to go by. */
  verdict?: EvalVerdict;
  gateResults?: GateResult[];
  thresholdResults?: ThresholdResult[];
  turnResults?: TurnResult[];
  /** Failures in the order of items; absent without a failure. */
  errors?: EvalFailure[];
}

/** Results of one item's scorers by id, grouped as the scorers were given. */
export type ScorerResults = Record<string, ScorerRunResult | Record<string, unknown>>;

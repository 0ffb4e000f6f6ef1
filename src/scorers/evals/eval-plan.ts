import type { Scorer, ScorerRunResult, Unchecked } from './scorer.ts';
import type { WorkflowStepResult } from './trajectory.ts';
import { type EvalErrorId, EvalError } from './scorer-error.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { AppError } from '../../domain/errors.ts';

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

/** A scorer with its place in the result: `['agent']`, `['steps', 'plan']`, or `[]` for a flat list. */
export interface PlannedScorer {
  readonly scorer: Scorer;
  readonly threshold: ThresholdConfig | NamedThresholds | undefined;
  readonly group: readonly string[];
}

/** The scorers of an evaluation, checked. */
export interface EvalPlan {
  readonly isWorkflow: boolean;
  readonly scorers: readonly PlannedScorer[];
  readonly gates: readonly Scorer[];
}

const AGENT_GROUPS: ReadonlySet<string> = new Set(['agent', 'trajectory']);
const WORKFLOW_GROUPS: ReadonlySet<string> = new Set(['workflow', 'steps', 'trajectory']);

/**
 * Checks the configuration of an evaluation and lists its scorers. Throws `EvalError` for a configuration that cannot be run,
 * before anything starts.
 */
export function planEvals(config: RunEvalsConfig): EvalPlan {
  const { data, target, concurrency } = config;
  if (!Array.isArray(data) || data.length === 0) {
    throw new EvalError('data has no items; give at least one', {
      id: 'RUN_EXPERIMENT_FAILED_NO_DATA_PROVIDED',
    });
  }
  checkConcurrency(concurrency);
  checkTarget(target);
  const isWorkflow = isEvalWorkflow(target);
  data.forEach((item: unknown, index) => checkItem(item, index, isWorkflow));
  const scorers = lastById(plannedScorers(config.scorers, isWorkflow));
  const gates = planEntries(config.gates ?? [], [], 'gates').map(({ scorer }) => scorer);
  const turns = data.flatMap(({ turns: own = [] }: EvalItem) => own);
  const inTurns = turns.some((turn: EvalTurn) => (turn.gates?.length ?? 0) + (turn.scorers?.length ?? 0) > 0);
  if (scorers.length === 0 && gates.length === 0 && !inTurns) {
    throw new EvalError('there is nothing to score with; give scorers or gates', {
      id: 'NO_SCORERS_PROVIDED',
    });
  }
  const ofTurns = turns.flatMap((turn: EvalTurn) => [
    ...planEntries(turn.scorers ?? [], []),
    ...planEntries(turn.gates ?? [], [], 'gates'),
  ]);
  for (const { scorer, threshold } of [...scorers, ...ofTurns]) {
    checkThreshold(scorer.id, threshold);
  }
  return { isWorkflow, scorers, gates };
}

/** True for a workflow: it creates runs. Every other target answers by itself. */
export function isEvalWorkflow(target: RunEvalsConfig['target']): target is EvalWorkflow {
  return 'createRun' in target && typeof target.createRun === 'function';
}

/** Checks the entries of a list and adds their place. Throws `EvalError` for anything that is no list of scorers. */
export function planEntries(
  entries: readonly ScorerEntry[],
  group: readonly string[],
  list = ['scorers', ...group].join('.'),
): PlannedScorer[] {
  if (!Array.isArray(entries)) {
    throw new EvalError(`${list} must be a list of scorers`, { id: 'INVALID_AGENT_SCORERS' });
  }
  return entries.map((entry: ScorerEntry, index) => {
    const isPair = isObject(entry) && 'scorer' in entry && !('run' in entry);
    const { scorer, threshold } = isPair ? entry : { scorer: entry, threshold: undefined };
    if (!isObject(scorer) || typeof scorer.id !== 'string' || typeof scorer.run !== 'function') {
      throw new EvalError(`${list}[${index}] is no scorer: it needs an id and run()`, {
        id: 'INVALID_AGENT_SCORERS',
      });
    }
    return { scorer, threshold, group };
  });
}

function plannedScorers(scorers: RunEvalsConfig['scorers'], isWorkflow: boolean): PlannedScorer[] {
  if (scorers === undefined || isList(scorers)) {
    return planEntries(scorers ?? [], []);
  }
  const known = isWorkflow ? WORKFLOW_GROUPS : AGENT_GROUPS;
  const unknown = Object.keys(scorers).filter((group) => !known.has(group));
  if (unknown.length > 0) {
    throw new EvalError(
      `scorers has ${unknown.join(', ')}; for ${isWorkflow ? 'a workflow' : 'an agent'} it takes ${[...known].join(', ')} or a list`,
      { id: 'INVALID_AGENT_SCORERS' },
    );
  }
  const {
    agent = [],
    workflow = [],
    steps = {},
    trajectory = [],
  } = scorers as AgentScorers & WorkflowScorers;
  return [
    ...planEntries(agent, ['agent']),
    ...planEntries(workflow, ['workflow']),
    ...Object.entries(steps).flatMap(([stepId, entries]) => planEntries(entries, ['steps', stepId])),
    ...planEntries(trajectory, ['trajectory']),
  ];
}

/** Drops scorers that repeat an id in one place: only the last one with the id is used. */
function lastById(entries: readonly PlannedScorer[]): PlannedScorer[] {
  return [
    ...new Map(entries.map((entry) => [JSON.stringify([...entry.group, entry.scorer.id]), entry])).values(),
  ];
}

function isList(scorers: NonNullable<RunEvalsConfig['scorers']>): scorers is readonly ScorerEntry[] {
  return Array.isArray(scorers);
}

function checkTarget(target: RunEvalsConfig['target'] | undefined): void {
  const answers = isObject(target) && 'generate' in target;
  if (!answers && !(isObject(target) && isEvalWorkflow(target))) {
    throw new EvalError('target is neither an agent, with generate(), nor a workflow, with createRun()', {
      id: 'INVALID_TARGET',
    });
  }
}

function checkConcurrency(concurrency: number | undefined): void {
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new EvalError(
      `concurrency is ${String(concurrency)}; give a whole number of 1 or more: the items under way at once`,
      { id: 'INVALID_CONCURRENCY' },
    );
  }
}

function checkItem(item: unknown, index: number, isWorkflow: boolean): void {
  const fault = itemFault(item, isWorkflow);
  if (fault !== undefined) {
    throw new EvalError(`data[${index}] ${fault}`, { id: 'INVALID_DATA_ITEM', details: { item: index } });
  }
}

function itemFault(item: unknown, isWorkflow: boolean): string | undefined {
  if (typeof item !== 'object' || item === null) {
    return 'is no object';
  }
  const { input, inputs, turns } = item as EvalItem;
  if (isWorkflow && (inputs !== undefined || turns !== undefined)) {
    return 'has inputs or turns, which a workflow does not take; give input';
  }
  if (turns !== undefined) {
    return input === undefined && inputs === undefined
      ? turnsFault(turns)
      : 'has turns and input or inputs; give one of them';
  }
  if (inputs !== undefined) {
    return Array.isArray(inputs) && inputs.length > 0
      ? undefined
      : 'has inputs that are no list with an entry';
  }
  return input === undefined || input === null ? 'has neither input nor inputs nor turns' : undefined;
}

function turnsFault(turns: unknown): string | undefined {
  const isGood = Array.isArray(turns) && turns.length > 0 && turns.every((turn) => turn?.input !== undefined);
  return isGood ? undefined : 'has turns that are no list of { input, … }';
}

function checkThreshold(scorerId: string, threshold: ThresholdConfig | NamedThresholds | undefined): void {
  const thresholds = isNamed(threshold) ? Object.entries(threshold) : [[scorerId, threshold] as const];
  for (const [name, each] of thresholds) {
    if (each !== undefined && !isThreshold(each)) {
      throw new EvalError(
        `the threshold of "${name}" must be a number between 0 and 1, or { min, max } of such with min ≤ max`,
        { id: 'INVALID_SCORER_THRESHOLD', details: { scorerId } },
      );
    }
  }
}

function isThreshold(threshold: ThresholdConfig): boolean {
  const { min, max } = typeof threshold === 'number' ? { min: threshold, max: undefined } : threshold;
  const bounds = [min, max].filter((bound) => bound !== undefined);
  const isGood = bounds.length > 0 && bounds.every((bound) => bound >= 0 && bound <= 1);
  return isGood && !(min !== undefined && max !== undefined && min > max);
}

/** One score of a result. */
export interface EvalScore {
  /** Id of the scorer, or the score's own name where the scorer gives several. */
  readonly name: string;
  readonly score: number;
  readonly threshold: ThresholdConfig | undefined;
}

/**
 * Lists the scores of a result with their thresholds; empty for a run that could not be scored. Scorers may be foreign code, so
 * everything is checked: throws `AppError` for a result without a score, for a score that is no finite number and for a
 * threshold without a score.
 */
export function listScores(
  scorer: Scorer,
  threshold: ThresholdConfig | NamedThresholds | undefined,
  result: ScorerRunResult,
): EvalScore[] {
  if (typeof result !== 'object' || result === null) {
    throw refused(
      `run() of scorer "${scorer.id}" gave ${result === null ? 'null' : typeof result}, no result`,
    );
  }
  if (result.notScorable !== undefined) {
    return [];
  }
  const own = result.score === undefined ? [] : [{ name: scorer.id, score: result.score }];
  const scores = [...own, ...(result.scores ?? []).map(({ name, score }) => ({ name, score }))];
  if (scores.length === 0) {
    throw refused(`run() of scorer "${scorer.id}" gave no score`);
  }
  const bad = scores.find(({ score }) => !Number.isFinite(score));
  if (bad !== undefined) {
    const shown = typeof bad.score === 'number' ? String(bad.score) : JSON.stringify(bad.score);
    throw refused(`the score "${bad.name}" is ${shown}, not a finite number`);
  }
  const byName: NamedThresholds = isNamed(threshold)
    ? threshold
    : Object.fromEntries(threshold === undefined ? [] : [[scorer.id, threshold]]);
  const names = scores.map(({ name }) => name);
  const missing = Object.keys(byName).find((name) => !names.includes(name));
  if (missing !== undefined) {
    const meant = `give thresholds by name, { "${names[0]}": 0.9 }; its scores are ${names.join(', ')}`;
    throw refused(`scorer "${scorer.id}" gave no score "${missing}" for its threshold: ${meant}`);
  }
  return scores.map(({ name, score }) => ({ name, score, threshold: byName[name] }));
}

/** True for thresholds by score name. */
function isNamed(threshold: ThresholdConfig | NamedThresholds | undefined): threshold is NamedThresholds {
  return (
    typeof threshold === 'object' && Object.keys(threshold).some((name) => name !== 'min' && name !== 'max')
  );
}

function refused(message: string): AppError {
  return new AppError(message, { code: 'scorer_failed', stage: 'judge', retryable: false });
}

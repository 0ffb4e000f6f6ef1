import type { Scorer } from '../scorer.ts';
import type {
  AgentScorers,
  EvalItem,
  EvalTurn,
  EvalWorkflow,
  NamedThresholds,
  RunEvalsConfig,
  ScorerEntry,
  ThresholdConfig,
  WorkflowScorers,
} from './eval-config.ts';
import { EvalError } from './eval-error.ts';
import { isNamed } from './list-scores.ts';
import { isObject } from '../../domain/unknown-values.ts';

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

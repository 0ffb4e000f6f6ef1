import { AppError, readErrorMessage } from '../../domain/errors.ts';
import type { Scorer, ScorerRunInput, ScorerRunResult } from '../scorer.ts';
import type {
  EvalFailure,
  EvalItem,
  EvalTurn,
  RunEvalsConfig,
  RunEvalsResult,
  ScorerResults,
  TurnResult,
  EvalScores,
  EvalVerdict,
  GateResult,
  ThresholdConfig,
  ThresholdResult,
} from './eval-config.ts';
import { EvalError, type EvalErrorId } from './eval-error.ts';
import { planEvals, planEntries, type EvalPlan, type PlannedScorer } from './eval-plan.ts';
import { runTarget, type TargetOutcome } from './run-target.ts';
import { listScores, type EvalScore } from './list-scores.ts';
import { reaches } from '../../domain/limits.ts';

/** A running evaluation. */
interface Evaluation {
  readonly config: RunEvalsConfig;
  readonly plan: EvalPlan;
  readonly scorers: ScoreTally;
  readonly gates: ScoreTally;
  readonly turns: Map<number, { readonly scorers: ScoreTally; readonly gates: ScoreTally }>;
  readonly notScorable: Map<string, number>;
  readonly failures: EvalFailure[];
}

/**
 * Sends every item to an agent or a workflow and scores the answers. A failure is listed in `errors` and the evaluation
 * continues; a gate that fails counts as 0. Rejects with an `EvalError` for a configuration that cannot be run and, with
 * `failFast`, for the first failure. Rejects with the reason of `abortSignal` when it is aborted.
 */
export async function runEvals<TItem extends EvalItem>(
  config: RunEvalsConfig<TItem>,
): Promise<RunEvalsResult> {
  const evaluation: Evaluation = {
    config: config as unknown as RunEvalsConfig,
    plan: planEvals(config as unknown as RunEvalsConfig),
    scorers: createScoreTally(),
    gates: createScoreTally(),
    turns: new Map(),
    notScorable: new Map(),
    failures: [],
  };
  const items = config.data.entries();
  const workers = Math.min(config.concurrency ?? 1, config.data.length);
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (const [index, item] of items) {
        config.abortSignal?.throwIfAborted();
        if (config.failFast === true && evaluation.failures.length > 0) {
          return;
        }
        await evaluateItem(evaluation, index, item);
      }
    }),
  );
  return buildResult(evaluation);
}

async function evaluateItem(evaluation: Evaluation, index: number, item: EvalItem): Promise<void> {
  const outcome = await attempt(
    evaluation,
    { item: index, id: 'RUN_EXPERIMENT_TARGET_FAILED_TO_GENERATE_RESULT', what: 'the target' },
    () => runTarget(evaluation.config, item),
  );
  if (outcome === undefined) {
    return;
  }
  await evaluateTurns(evaluation, index, item, outcome);
  for (const gate of evaluation.plan.gates) {
    await askGate(evaluation, index, evaluation.gates, gate, runInput(item, outcome, gate));
  }
  const scorerResults: ScorerResults = {};
  for (const entry of evaluation.plan.scorers) {
    await askScorer(evaluation, index, item, outcome, entry, scorerResults);
  }
  const { onItemComplete } = evaluation.config;
  await attempt(
    evaluation,
    { item: index, id: 'RUN_EXPERIMENT_ON_ITEM_COMPLETE_FAILED', what: 'onItemComplete' },
    async () => onItemComplete?.({ item, targetResult: outcome.targetResult, scorerResults }),
  );
}

async function askScorer(
  evaluation: Evaluation,
  index: number,
  item: EvalItem,
  outcome: TargetOutcome,
  entry: PlannedScorer,
  into: ScorerResults,
): Promise<void> {
  const { scorer, group } = entry;
  const [place, stepId = ''] = group;
  const step = place === 'steps' ? outcome.steps.get(stepId) : undefined;
  let results = into;
  for (const name of group) {
    results = (results[name] ??= {}) as ScorerResults;
  }
  if (place === 'steps' && step === undefined) {
    return;
  }
  const result = await attempt(
    evaluation,
    {
      item: index,
      id: identifyFailure(place, evaluation.plan),
      what: `scorer "${scorer.id}"`,
      scorerId: scorer.id,
    },
    async () => {
      const given = await runScorer(evaluation, scorer, runInput(item, outcome, scorer, place, step));
      addResult(evaluation, evaluation.scorers, entry, given);
      return given;
    },
  );
  if (result !== undefined) {
    results[scorer.id] = result;
  }
}

function identifyFailure(place: string | undefined, { isWorkflow }: EvalPlan): EvalErrorId {
  if (place === 'steps') {
    return 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_STEP_RESULT';
  }
  if (place !== 'trajectory') {
    return 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_RESULT';
  }
  return isWorkflow
    ? 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_WORKFLOW_TRAJECTORY'
    : 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_TRAJECTORY';
}

/** Builds the input of a scorer. Scorers of trajectories get the steps, wherever they are listed. */
function runInput(
  item: EvalItem,
  outcome: TargetOutcome,
  scorer: Scorer,
  place?: string,
  part?: { readonly input: unknown; readonly output: unknown },
): ScorerRunInput {
  const takesSteps = place === 'trajectory' || ('type' in scorer && scorer.type === 'trajectory');
  const { input, output } = part ?? outcome;
  return {
    input,
    output: takesSteps && part === undefined ? outcome.trajectory() : output,
    groundTruth: item.groundTruth,
    expectedTrajectory: item.expectedTrajectory,
    requestContext: item.requestContext,
  };
}

async function evaluateTurns(
  evaluation: Evaluation,
  index: number,
  item: EvalItem,
  outcome: TargetOutcome,
): Promise<void> {
  for (const [turnIndex, part] of outcome.turns.entries()) {
    const { gates = [], scorers = [] }: Partial<EvalTurn> = item.turns?.[turnIndex] ?? {};
    if (gates.length + scorers.length === 0) {
      continue;
    }
    const tallies = evaluation.turns.get(turnIndex) ?? {
      scorers: createScoreTally(),
      gates: createScoreTally(),
    };
    evaluation.turns.set(turnIndex, tallies);
    for (const gate of gates) {
      await askGate(evaluation, index, tallies.gates, gate, runInput(item, outcome, gate, undefined, part));
    }
    for (const entry of planEntries(scorers, [])) {
      const { scorer } = entry;
      await attempt(
        evaluation,
        {
          item: index,
          id: 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_RESULT',
          what: `scorer "${scorer.id}" of turn ${turnIndex}`,
          scorerId: scorer.id,
        },
        async () => {
          const given = await runScorer(evaluation, scorer, runInput(item, outcome, scorer, undefined, part));
          addResult(evaluation, tallies.scorers, entry, given);
        },
      );
    }
  }
}

async function askGate(
  evaluation: Evaluation,
  index: number,
  tally: ScoreTally,
  gate: Scorer,
  input: ScorerRunInput,
): Promise<void> {
  const entry = { scorer: gate, threshold: undefined, group: [] };
  let result: ScorerRunResult;
  try {
    result = await runScorer(evaluation, gate, input);
  } catch {
    // A gate that fails counts as not passed.
    evaluation.config.abortSignal?.throwIfAborted();
    result = { score: 0 };
  }
  const noted = await attempt(
    evaluation,
    {
      item: index,
      id: 'RUN_EXPERIMENT_SCORER_FAILED_TO_SCORE_RESULT',
      what: `gate "${gate.id}"`,
      scorerId: gate.id,
    },
    async () => {
      addResult(evaluation, tally, entry, readGateResult(result));
      return true;
    },
  );
  if (noted !== true) {
    tally.add({ name: gate.id, score: 0, threshold: undefined });
  }
}

/**
 * Checks the result of a gate. A gate needs one score: several scores, each good in its own way, cannot pass or fail together.
 */
function readGateResult(result: ScorerRunResult): ScorerRunResult {
  if (result?.scores === undefined) {
    return result;
  }
  if (result.score === undefined && result.scores.length > 0) {
    throw new AppError(
      'it gives several scores and none of its own; give it as a scorer with thresholds by name',
      { code: 'scorer_failed', stage: 'judge', retryable: false },
    );
  }
  return { ...result, scores: [] };
}

function runScorer({ config }: Evaluation, scorer: Scorer, input: ScorerRunInput): Promise<ScorerRunResult> {
  return scorer.run(input, config.abortSignal === undefined ? {} : { abortSignal: config.abortSignal });
}

/** Adds the scores of a result to the tally. Throws `AppError` for a result without a score. */
function addResult(
  { notScorable }: Evaluation,
  tally: ScoreTally,
  { scorer, threshold, group }: PlannedScorer,
  result: ScorerRunResult,
): void {
  const scores = listScores(scorer, threshold, result);
  if (scores.length === 0) {
    notScorable.set(scorer.id, (notScorable.get(scorer.id) ?? 0) + 1);
  }
  for (const each of scores) {
    tally.add(each, group);
  }
}

/** Runs a piece of work. Returns undefined when it failed; the failure is recorded then. */
async function attempt<T>(
  { config, failures }: Evaluation,
  about: {
    readonly item: number;
    readonly id: EvalErrorId;
    readonly what: string;
    readonly scorerId?: string;
  },
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (cause) {
    config.abortSignal?.throwIfAborted();
    const { what, ...details } = about;
    const error = new EvalError(`item ${about.item}: ${what} failed: ${readErrorMessage(cause)}`, {
      id: about.id,
      details,
      cause,
    });
    failures.push({ ...details, message: error.message, error });
    if (config.failFast === true) {
      throw error;
    }
    return undefined;
  }
}

function buildResult(evaluation: Evaluation): RunEvalsResult {
  const { scorers, gates, notScorable, failures } = evaluation;
  const gateResults = gates.gateResults();
  const thresholdResults = scorers.thresholdResults();
  const turnResults = [...evaluation.turns]
    .sort(([a], [b]) => a - b)
    .map(([index, tallies]): TurnResult => {
      const [ofGates, ofThresholds] = [tallies.gates.gateResults(), tallies.scorers.thresholdResults()];
      const scores = tallies.scorers.scores() as Record<string, number>;
      return {
        index,
        ...(ofGates.length === 0 ? {} : { gateResults: ofGates }),
        ...(ofThresholds.length === 0 ? {} : { thresholdResults: ofThresholds }),
        ...(Object.keys(scores).length === 0 ? {} : { scores }),
      };
    });
  const verdict = findVerdict(
    [...gateResults, ...turnResults.flatMap((turn) => turn.gateResults ?? [])],
    [...thresholdResults, ...turnResults.flatMap((turn) => turn.thresholdResults ?? [])],
  );
  return {
    scores: scorers.scores(),
    summary: {
      totalItems: evaluation.config.data.length,
      ...(notScorable.size === 0 ? {} : { notScorable: Object.fromEntries(notScorable) }),
    },
    ...(verdict === undefined ? {} : { verdict }),
    ...(gateResults.length === 0 ? {} : { gateResults }),
    ...(thresholdResults.length === 0 ? {} : { thresholdResults }),
    ...(turnResults.length === 0 ? {} : { turnResults }),
    ...(failures.length === 0 ? {} : { errors: failures.sort((a, b) => a.item - b.item) }),
  };
}

/** Scores recorded under one name so far. */
interface Entry {
  readonly id: string;
  readonly group: readonly string[];
  readonly threshold: ThresholdConfig | undefined;
  readonly scores: number[];
}

/** Collects the scores of several scorers over many runs. */
interface ScoreTally {
  /** Adds a score in its place in the result. */
  add(score: EvalScore, group?: readonly string[]): void;
  /** Returns the means by group and name. */
  scores(): EvalScores;
  thresholdResults(): ThresholdResult[];
  gateResults(): GateResult[];
}

/** Creates a tally that separates scores by group and name. */
function createScoreTally(): ScoreTally {
  const entries = new Map<string, Entry>();
  const means = (): { entry: Entry; mean: number }[] =>
    [...entries.values()].map((entry) => ({
      entry,
      mean: entry.scores.reduce((sum, score) => sum + score, 0) / entry.scores.length,
    }));

  return {
    add({ name: id, score, threshold }, group = []) {
      const key = JSON.stringify([...group, id]);
      const entry = entries.get(key) ?? { id, group, threshold, scores: [] };
      entries.set(key, entry);
      entry.scores.push(score);
    },
    scores() {
      const scores: Record<string, unknown> = {};
      for (const { entry, mean } of means()) {
        let into = scores;
        for (const name of entry.group) {
          into = (into[name] ??= {}) as Record<string, unknown>;
        }
        into[entry.id] = mean;
      }
      return scores as EvalScores;
    },
    thresholdResults: () =>
      means().flatMap(({ entry: { id, threshold }, mean }) =>
        threshold === undefined
          ? []
          : [{ id, passed: keeps(mean, threshold), averageScore: mean, threshold }],
      ),
    gateResults: () =>
      means().map(({ entry: { id }, mean }) => ({ id, passed: reaches(mean, 1), score: mean })),
  };
}

function keeps(mean: number, threshold: ThresholdConfig): boolean {
  const { min = -Infinity, max = Infinity } = typeof threshold === 'number' ? { min: threshold } : threshold;
  return reaches(mean, min) && reaches(max, mean);
}

/** Finds the verdict; undefined when no gate and no threshold had a score to compare. */
function findVerdict(
  gates: readonly GateResult[],
  thresholds: readonly ThresholdResult[],
): EvalVerdict | undefined {
  if (gates.length + thresholds.length === 0) {
    return undefined;
  }
  if (gates.some(({ passed }) => !passed)) {
    return 'failed';
  }
  return thresholds.some(({ passed }) => !passed) ? 'scored' : 'passed';
}

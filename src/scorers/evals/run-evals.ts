import { InvalidInputError, AppError, readErrorMessage } from '../../domain/errors.ts';
import {
  extractTrajectory,
  extractWorkflowTrajectory,
  type WorkflowStepResult,
  type Trajectory,
} from './trajectory.ts';
import {
  type EvalAgent,
  type EvalItem,
  type EvalWorkflow,
  type EvalWorkflowResult,
  type RunEvalsConfig,
  type EvalFailure,
  type EvalTurn,
  type RunEvalsResult,
  type ScorerResults,
  type TurnResult,
  type EvalScores,
  type EvalVerdict,
  type GateResult,
  type ThresholdConfig,
  type ThresholdResult,
  isEvalWorkflow,
  planEvals,
  planEntries,
  type EvalPlan,
  type PlannedScorer,
  listScores,
  type EvalScore,
} from './eval-plan.ts';
import type { Scorer, ScorerRunInput, ScorerRunResult } from './scorer.ts';
import { EvalError, type EvalErrorId } from './scorer-error.ts';
import { reaches } from '../../domain/limits.ts';

/** The target's answer to one item, for the scorers. */
interface TargetOutcome {
  readonly targetResult: unknown;
  readonly input: unknown;
  readonly output: unknown;
  /** Input and output by turn, for an item whose turns have scorers of their own. */
  readonly turns: readonly { readonly input: unknown; readonly output: unknown }[];
  /** Steps of a workflow that succeeded with an output, by id. */
  readonly steps: ReadonlyMap<string, { readonly input: unknown; readonly output: unknown }>;
  trajectory(): Trajectory;
}

/** A function of the target with any arguments: its interface leaves them open. */
type Loose<T> = T extends (...args: never[]) => infer R ? (...args: unknown[]) => R : never;

/** Sends one item to the target. Rejects with the error of the target. */
async function runTarget(
  { target, targetOptions = {} }: RunEvalsConfig,
  item: EvalItem,
): Promise<TargetOutcome> {
  return isEvalWorkflow(target)
    ? runWorkflow(target, item, targetOptions)
    : runAgent(target, item, targetOptions);
}

async function runAgent(
  agent: EvalAgent,
  item: EvalItem,
  targetOptions: Readonly<Record<string, unknown>>,
): Promise<TargetOutcome> {
  const generate = agent.generate.bind(agent) as Loose<EvalAgent['generate']>;
  const inputs = item.turns?.map((turn) => turn.input) ?? item.inputs;
  const thread = inputs === undefined ? {} : { memory: readMemory(targetOptions) };
  const options = {
    ...targetOptions,
    ...thread,
    scorers: {},
    returnScorerData: true,
    requestContext: item.requestContext,
  };
  const turns: { input: unknown; output: unknown }[] = [];
  let targetResult: unknown;
  for (const input of inputs ?? [item.input]) {
    const result = await generate(input, options);
    targetResult = result;
    turns.push(buildScoringData(result));
  }
  const output =
    inputs === undefined ? turns[0]?.output : turns.flatMap((turn) => (turn.output ?? []) as unknown[]);
  return {
    targetResult,
    input: inputs === undefined ? turns[0]?.input : inputs[0],
    output,
    turns: item.turns === undefined ? [] : turns,
    steps: new Map(),
    trajectory: () => extractTrajectory(Array.isArray(output) ? output : []),
  };
}

/**
 * Reads input and output from the target's result. Throws when they are missing: scorers would give an empty answer a score.
 */
function buildScoringData(
  result:
    | { readonly scoringData?: { readonly input?: unknown; readonly output?: unknown } | undefined }
    | undefined,
) {
  if (result?.scoringData === undefined) {
    throw new InvalidInputError('generate() gave no scoringData: { input, output } as scorers take them');
  }
  const { input, output } = result.scoringData;
  return { input, output };
}

/** Reads the memory options. All turns of one item share a memory thread; no other item uses it. */
function readMemory({ memory }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const thread = crypto.randomUUID();
  return { resource: thread, ...(memory as object | undefined), thread };
}

async function runWorkflow(
  workflow: EvalWorkflow,
  item: EvalItem,
  targetOptions: Readonly<Record<string, unknown>>,
): Promise<TargetOutcome> {
  const createRun = workflow.createRun.bind(workflow) as Loose<EvalWorkflow['createRun']>;
  const run = await createRun({ disableScorers: true });
  const start = run.start.bind(run) as Loose<typeof run.start>;
  const result = await start({
    ...targetOptions,
    ...item.startOptions,
    inputData: item.input,
    requestContext: item.requestContext,
  });
  const { status, stepExecutionPath } = result;
  const results = readStepResults(result);
  const done = Object.entries(results).filter(
    ([, step]) => step.status === 'success' && step.output !== undefined,
  );
  return {
    targetResult: result,
    input: item.input,
    output: status === 'success' ? result.result : undefined,
    turns: [],
    steps: new Map(
      done.map(([id, step]) => [id, { input: step['payload'] ?? item.input, output: step.output }]),
    ),
    trajectory: () => extractWorkflowTrajectory(results, stepExecutionPath),
  };
}

/** Reads the steps of a workflow's result. The input of the workflow is listed among them without a status. */
function readStepResults({ steps = {} }: EvalWorkflowResult): Record<string, WorkflowStepResult> {
  const entries = Object.entries(steps).filter(([, step]) => typeof step?.status === 'string');
  return Object.fromEntries(entries);
}

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

type ScoreTally = ReturnType<typeof createScoreTally>;

/** Collects the scores of several scorers over many runs, by group and name. */
function createScoreTally() {
  const entries = new Map<
    string,
    Omit<EvalScore, 'score'> & { group: readonly string[]; scores: number[] }
  >();
  const means = () =>
    [...entries.values()].map((entry) => ({
      entry,
      mean: entry.scores.reduce((sum, score) => sum + score, 0) / entry.scores.length,
    }));

  return {
    /** Adds a score in its place in the result. */
    add({ name, score, threshold }: EvalScore, group: readonly string[] = []): void {
      const key = JSON.stringify([...group, name]);
      const entry = entries.get(key) ?? { name, group, threshold, scores: [] };
      entries.set(key, entry);
      entry.scores.push(score);
    },
    /** Returns the means by group and name. */
    scores(): EvalScores {
      const scores: Record<string, unknown> = {};
      for (const { entry, mean } of means()) {
        let into = scores;
        for (const place of entry.group) {
          into = (into[place] ??= {}) as Record<string, unknown>;
        }
        into[entry.name] = mean;
      }
      return scores;
    },
    thresholdResults: (): ThresholdResult[] =>
      means().flatMap(({ entry: { name: id, threshold }, mean }) =>
        threshold === undefined
          ? []
          : [{ id, passed: keeps(mean, threshold), averageScore: mean, threshold }],
      ),
    gateResults: (): GateResult[] =>
      means().map(({ entry: { name: id }, mean }) => ({ id, passed: reaches(mean, 1), score: mean })),
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

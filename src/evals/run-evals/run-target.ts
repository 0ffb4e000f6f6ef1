import { InvalidInputError } from '../../domain/errors.ts';
import { extractTrajectory } from '../trajectory/extract-trajectory.ts';
import { extractWorkflowTrajectory } from '../trajectory/extract-workflow-trajectory.ts';
import type { WorkflowStepResult } from '../trajectory/extract-workflow-trajectory.ts';
import type { Trajectory } from '../trajectory/trajectory.ts';
import type { EvalAgent, EvalItem, EvalWorkflow, EvalWorkflowResult, RunEvalsConfig } from './eval-config.ts';
import { isEvalWorkflow } from './eval-plan.ts';

/** The target's answer to one item, for the scorers. */
export interface TargetOutcome {
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
export async function runTarget(
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

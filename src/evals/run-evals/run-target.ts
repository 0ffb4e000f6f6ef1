import { InvalidInputError } from '../../domain/errors.ts';
import { extractTrajectory } from '../trajectory/extract-trajectory.ts';
import { extractWorkflowTrajectory } from '../trajectory/extract-workflow-trajectory.ts';
import type { WorkflowStepResult } from '../trajectory/extract-workflow-trajectory.ts';
import type { Trajectory } from '../trajectory/trajectory.ts';
import type { EvalAgent, EvalItem, EvalWorkflow, EvalWorkflowResult, RunEvalsConfig } from './eval-config.ts';
import { isEvalWorkflow } from './eval-plan.ts';

/** Material to score of one item. */
export interface TargetOutcome {
  readonly targetResult: unknown;
  readonly input: unknown;
  readonly output: unknown;
  /** By turn of the item, where it has turns with scorers of their own. */
  readonly turns: readonly { readonly input: unknown; readonly output: unknown }[];
  /** The steps of a workflow that succeeded with an output, by id. */
  readonly steps: ReadonlyMap<string, { readonly input: unknown; readonly output: unknown }>;
  trajectory(): Trajectory;
}

/** The target's interfaces leave their arguments to it. */
type Loose<T> = T extends (...args: never[]) => infer R ? (...args: unknown[]) => R : never;

/** Puts one item to the target. Rejects with whatever the target rejects with. */
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

/** Without what was said there is nothing to score: an empty answer would get scores that it has not earned. */
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

/** The turns of one item share a thread of memory, and no other item's. */
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

/** The input of a workflow stands among its steps, without a status. */
function readStepResults({ steps = {} }: EvalWorkflowResult): Record<string, WorkflowStepResult> {
  const entries = Object.entries(steps).filter(([, step]) => typeof step?.status === 'string');
  return Object.fromEntries(entries);
}

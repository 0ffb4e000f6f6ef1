import { InvalidInputError } from '../../../domain/errors.ts';
import { extractTrajectory } from '../../../evals/trajectory/extract-trajectory.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** A taken or expected step. Further members are kept, but not read. */
export interface TrajectoryStepLike {
  readonly name: string;
  readonly stepType?: string;
  readonly toolArgs?: unknown;
}

export interface TrajectoryLike {
  readonly steps: readonly TrajectoryStepLike[];
  /** Messages that the trajectory was read from. */
  readonly rawOutput?: unknown;
}

/** Reads the trajectory of a run's output: unchanged, or from the messages of an agent. */
export function readTrajectory(output: unknown): TrajectoryLike {
  if (Array.isArray(output)) {
    return extractTrajectory(output);
  }
  if (isObject(output) && isStepList(output['steps'])) {
    return output as unknown as TrajectoryLike;
  }
  throw new InvalidInputError(
    'run.output must be a trajectory, { steps: [{ name }] }, or a list of messages',
  );
}

/** Lists the steps of an expectation; undefined for any other value. */
export function expectedSteps(expected: unknown): readonly TrajectoryStepLike[] | undefined {
  const steps = isObject(expected) && !Array.isArray(expected) ? expected['steps'] : expected;
  return isStepList(steps) ? steps : undefined;
}

/** Writes one line for each step: `1. [tool_call] search (args: {"q":"x"})`. */
export function formatSteps(steps: readonly TrajectoryStepLike[]): string {
  return steps.map((step, index) => `${index + 1}. ${formatStep(step)}`).join('\n');
}

/** Writes `[tool_call] search (args: {"q":"x"})`, with the parts that the step has. */
export function formatStep({ name, stepType, toolArgs }: TrajectoryStepLike): string {
  const type = stepType === undefined ? '' : `[${stepType}] `;
  const args = toolArgs === undefined ? '' : ` (args: ${JSON.stringify(toolArgs)})`;
  return `${type}${name}${args}`;
}

function isStepList(value: unknown): value is TrajectoryStepLike[] {
  return Array.isArray(value) && value.every((step) => isObject(step) && typeof step['name'] === 'string');
}

import { InvalidInputError } from '../../../domain/errors.ts';
import type { AgentOutput } from '../../../domain/messages.ts';
import { extractTrajectory } from '../../../evals/trajectory/extract-trajectory.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import type {
  ExpectedStep,
  Trajectory,
  TrajectoryExpectation,
} from '../../../evals/trajectory/trajectory.ts';
import { isRecord } from '../../utils/is-record.ts';
import { listIgnored, warnIgnored } from './ignored-fields.ts';

/** Input of trajectory scorers: the steps, or the messages to read them from. */
export type StepsRunInput = ScorerRunInput<unknown, Trajectory | AgentOutput>;

/** The steps of a run: as given, or read from the messages of an agent. */
export function readTrajectory({ output }: ScorerRunInput): Trajectory {
  if (Array.isArray(output)) {
    return extractTrajectory(output);
  }
  if (!isRecord(output) || !Array.isArray(output['steps'])) {
    throw new InvalidInputError('run.output must be a trajectory, { steps: […] }, or messages of an agent');
  }
  return output as unknown as Trajectory;
}

/** The expectation that the data item has of its own run; warns of members that change nothing. */
export function readExpectation(
  scorerId: string,
  { expectedTrajectory }: ScorerRunInput,
): TrajectoryExpectation {
  if (!isRecord(expectedTrajectory) || Array.isArray(expectedTrajectory)) {
    return {};
  }
  warnIgnored(scorerId, listIgnored(expectedTrajectory));
  return expectedTrajectory;
}

/** Expected steps, written as a list or as `{ steps }`. */
export type ExpectedSteps = readonly ExpectedStep[] | { readonly steps: readonly ExpectedStep[] };

/** The list of either form. */
export function listExpectedSteps(expected: ExpectedSteps): readonly ExpectedStep[] {
  return 'steps' in expected ? expected.steps : expected;
}

import { InvalidInputError } from '../../../domain/errors.ts';
import type { AgentOutput } from '../../../domain/trace/messages.ts';
import { extractTrajectory } from '../../../evals/trajectory/extract-trajectory.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import type {
  ExpectedStep,
  Trajectory,
  TrajectoryExpectation,
} from '../../../evals/trajectory/trajectory.ts';
import type { TrajectoryComparison } from '../../utils/compare-trajectories.ts';
import { nameAfter } from './name-findings.ts';
import { listIgnored, warnIgnored } from './ignored-fields.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Input of trajectory scorers: the steps, or the messages that contain them. */
export type StepsRunInput = ScorerRunInput<unknown, Trajectory | AgentOutput>;

/** Reads the steps of a run: from its trajectory, or from the messages of an agent. */
export function readTrajectory({ output }: ScorerRunInput): Trajectory {
  if (Array.isArray(output)) {
    return extractTrajectory(output);
  }
  if (!isObject(output) || !Array.isArray(output['steps'])) {
    throw new InvalidInputError('run.output must be a trajectory, { steps: […] }, or messages of an agent');
  }
  return output as unknown as Trajectory;
}

/** Reads the expectation of the data item for its own run; warns about members that have no effect. */
export function readExpectation(
  scorerId: string,
  { expectedTrajectory }: ScorerRunInput,
): TrajectoryExpectation {
  if (!isObject(expectedTrajectory) || Array.isArray(expectedTrajectory)) {
    return {};
  }
  warnIgnored(scorerId, listIgnored(expectedTrajectory));
  return expectedTrajectory;
}

/** Expected steps, written as a list or as `{ steps }`. */
export type ExpectedSteps = readonly ExpectedStep[] | { readonly steps: readonly ExpectedStep[] };

/** Returns the list of expected steps of either form. */
export function listExpectedSteps(expected: ExpectedSteps): readonly ExpectedStep[] {
  return 'steps' in expected ? expected.steps : expected;
}

/** Describes which of the expected steps were taken. */
export function explainSteps(comparison: TrajectoryComparison): string {
  const { matchedSteps, totalExpectedSteps, missingSteps, extraSteps, outOfOrderSteps } = comparison;
  return (
    `Steps: ${matchedSteps} of ${totalExpectedSteps} taken as expected` +
    nameAfter('missing', missingSteps) +
    nameAfter('not expected', extraSteps) +
    nameAfter('out of order', outOfOrderSteps)
  );
}

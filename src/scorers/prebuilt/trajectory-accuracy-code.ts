import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import type { ExpectedStep, Trajectory } from '../evals/trajectory.ts';
import {
  compareTrajectories,
  type TrajectoryComparison,
  type TrajectoryComparisonOptions,
} from '../shared/trajectories.ts';
import { checkOptions } from '../shared/options.ts';
import {
  formerOptions,
  ignoredStepFields,
  warnIgnored,
  explainSteps,
  readExpectation,
  listExpectedSteps,
  listStepFaults,
  readTrajectory,
  type ExpectedSteps,
  type StepsRunInput,
} from '../shared/trajectory-run.ts';
import { TRAJECTORY_ACCURACY_OPTIONS } from './definitions.ts';

const ID = 'code-trajectory-accuracy-scorer';

export interface TrajectoryAccuracyOptions {
  /** Expected steps; default: the steps of `run.expectedTrajectory`. */
  readonly expectedTrajectory?: ExpectedSteps;
  /** Comparison settings; `ordering` and `allowRepeatedSteps` of `run.expectedTrajectory` replace them. */
  readonly comparisonOptions?: TrajectoryComparisonOptions;
}

interface TrajectoryAccuracyResults {
  preprocessStepResult: {
    actualTrajectory: Trajectory;
    actualStepNames: string[];
    expectedStepNames: string[];
    expectedTrajectory?: { steps: readonly ExpectedStep[] };
    comparison?: TrajectoryComparison;
    /** Reason why nothing was compared. */
    error?: string;
  };
}

/** Scores the match of the steps with the expected steps; 0 without an expectation. */
export function createTrajectoryAccuracyScorerCode(
  options: TrajectoryAccuracyOptions = {},
): RunnableScorer<StepsRunInput, TrajectoryAccuracyResults> {
  checkOptions(ID, options, TRAJECTORY_ACCURACY_OPTIONS);
  const { expectedTrajectory, comparisonOptions = {} } = options;
  const expectedSteps = expectedTrajectory === undefined ? undefined : listExpectedSteps(expectedTrajectory);
  warnIgnored(ID, [...formerOptions(comparisonOptions), ...ignoredStepFields(expectedSteps)]);
  return createScorer({
    id: ID,
    name: 'Trajectory Accuracy Scorer',
    description: 'How far the steps taken are those expected',
    type: 'trajectory',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'astray', below: 0.5 }, { label: 'on track' }],
    version: '1',
    options: { expectedTrajectory, comparisonOptions },
    details: ({ run, results }) => ({
      verdicts: listFaults(
        results as TrajectoryAccuracyResults,
        readExpectation(ID, run as StepsRunInput).ordering ?? comparisonOptions.ordering,
      ),
    }),
  })
    .preprocess(({ run }): TrajectoryAccuracyResults['preprocessStepResult'] => {
      const actualTrajectory = readTrajectory(run);
      const actualStepNames = actualTrajectory.steps.map(({ name }) => name);
      const { steps: ownSteps, ordering, allowRepeatedSteps } = readExpectation(ID, run);
      const steps = expectedSteps ?? ownSteps;
      if (steps === undefined) {
        const error = 'no expected steps: give options.expectedTrajectory or expectedTrajectory of the run';
        return { actualTrajectory, actualStepNames, expectedStepNames: [], error };
      }
      return {
        actualTrajectory,
        expectedTrajectory: { steps },
        comparison: compareTrajectories(
          actualTrajectory,
          { steps },
          {
            ordering: ordering ?? comparisonOptions.ordering,
            allowRepeatedSteps: allowRepeatedSteps ?? comparisonOptions.allowRepeatedSteps,
          },
        ),
        actualStepNames,
        expectedStepNames: steps.map(({ name }) => name),
      };
    })
    .generateScore(({ results }) => results.preprocessStepResult.comparison?.score ?? 0)
    .generateReason(({ results: { preprocessStepResult } }) => {
      const { comparison, error } = preprocessStepResult;
      return comparison === undefined ? `Nothing was compared: ${error}.` : `${explainSteps(comparison)}.`;
    });
}

function listFaults(
  { preprocessStepResult }: TrajectoryAccuracyResults,
  ordering: TrajectoryComparisonOptions['ordering'],
) {
  const { comparison, actualStepNames: taken, expectedStepNames: expected } = preprocessStepResult;
  return comparison === undefined
    ? []
    : listStepFaults(comparison, { taken, expected, isStrict: ordering === 'strict' });
}

import { defineScorer } from '../../scorer-definition.ts';
import { COMPARISON_RULES, FORMER_OPTIONS, isExpectedSteps } from '../shared/expectation-options.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Options of the scorer. */
export const TRAJECTORY_ACCURACY_OPTIONS = {
  expectedTrajectory: {
    ...isExpectedSteps,
    means:
      'a list of steps, or `{ steps }`, each by name or with fields that must be equal; else `run.expectedTrajectory`; needed in rules',
  },
  comparisonOptions: {
    fits: isObject,
    is: '{ ordering, allowRepeatedSteps }',
    members: COMPARISON_RULES,
    ignoredMembers: FORMER_OPTIONS,
    means: '`{ ordering, allowRepeatedSteps }` (`relaxed`, true); those of the run come first',
  },
};

/** The scorer `trajectory-accuracy-code` of rules. */
export const trajectoryAccuracyCodeDefinition = defineScorer({
  name: 'trajectory-accuracy-code',
  needsJudge: false,
  measures: 'how far the steps taken are those expected',
  options: {
    ...TRAJECTORY_ACCURACY_OPTIONS,
    expectedTrajectory: {
      ...TRAJECTORY_ACCURACY_OPTIONS.expectedTrajectory,
      needed: 'the expected steps',
    },
  },
  create: async ({ options }) =>
    (await import('./trajectory-accuracy-code-scorer.ts')).createTrajectoryAccuracyScorerCode(options),
});

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

import { defineScorer } from '../../scorer-definition.ts';
import { TRAJECTORY_ACCURACY_OPTIONS } from './trajectory-accuracy-code-options.ts';

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

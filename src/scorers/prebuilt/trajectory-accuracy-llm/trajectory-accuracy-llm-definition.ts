import { defineScorer } from '../../scorer-definition.ts';
import { EXPECTED_TRAJECTORY_OPTION, TRAJECTORY_JUDGE_OPTIONS } from './trajectory-accuracy-llm-options.ts';

/** The scorer `trajectory-accuracy-llm` of rules. */
export const trajectoryAccuracyLlmDefinition = defineScorer({
  name: 'trajectory-accuracy-llm',
  needsJudge: true,
  measures: 'whether the steps of an agent fit its task',
  options: {
    expectedTrajectory: EXPECTED_TRAJECTORY_OPTION,
    ...TRAJECTORY_JUDGE_OPTIONS,
  },
  create: async ({ judge, options: { expectedTrajectory, ...options } }) =>
    (await import('./trajectory-accuracy-llm-scorer.ts')).createTrajectoryAccuracyScorerLLM({
      model: judge,
      expectedTrajectory: expectedTrajectory as never,
      options,
    }),
});

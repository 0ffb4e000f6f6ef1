import { defineScorer } from '../../scorer-definition.ts';
import { reasonOption } from '../shared/described-options.ts';
import { isExpectedSteps } from '../shared/expectation-options.ts';

/** The steps to be taken. */
export const EXPECTED_TRAJECTORY_OPTION = {
  fits: isExpectedSteps.fits,
  is: 'a list of { name } or { steps: [{ name }] }',
  means: 'a list of steps, or `{ steps }`; wins over `run.expectedTrajectory`',
};

/** Options beside the steps. */
export const TRAJECTORY_JUDGE_OPTIONS = { reason: reasonOption };

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

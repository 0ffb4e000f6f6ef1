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

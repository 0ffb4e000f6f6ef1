import { isFilledText } from '../shared/checked-options.ts';
import { ownReasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** The criterion. */
export const CRITERION_OPTION = { ...isFilledText, means: 'what the turns must meet, in words' };

/** Options beside the criterion. */
export const MULTI_TURN_JUDGE_OPTIONS = {
  scale: scaleOption,
  ...SIGHT_OPTIONS,
  reason: ownReasonOption,
};

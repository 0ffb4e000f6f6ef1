import { isShare } from '../shared/checked-options.ts';
import { reasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** Options of the scorer. */
export const ANSWER_RELEVANCY_OPTIONS = {
  scale: scaleOption,
  uncertaintyWeight: { ...isShare, means: 'what a statement counts that helps indirectly, 0 to 1 (0.3)' },
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

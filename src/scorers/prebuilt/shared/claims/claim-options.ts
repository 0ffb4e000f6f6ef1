import { isFunction } from '../checked-options.ts';
import { evidenceOption, reasonOption, scaleOption, SIGHT_OPTIONS } from '../described-options.ts';

/** Options of a claim scorer. */
export const CLAIM_OPTIONS = {
  scale: scaleOption,
  context: evidenceOption,
  getContext: {
    ...isFunction,
    means: '`({ run, results, step }) => texts`, the evidence of one run; wins over `context`',
  },
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

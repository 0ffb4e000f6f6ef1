import { reasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** Options of the scorer. */
export const TOXICITY_OPTIONS = {
  scale: scaleOption,
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

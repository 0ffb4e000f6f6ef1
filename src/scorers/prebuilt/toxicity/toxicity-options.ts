import { reasonOption, scaleOption } from '../shared/described-options.ts';

/** Options of the scorer. */
export const TOXICITY_OPTIONS = {
  scale: scaleOption,
  reason: reasonOption,
};

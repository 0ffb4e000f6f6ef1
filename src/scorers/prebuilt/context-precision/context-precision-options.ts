import { PIECES_OPTIONS, reasonOption, scaleOption } from '../shared/described-options.ts';

/** Options of the scorer. */
export const CONTEXT_PRECISION_OPTIONS = {
  scale: scaleOption,
  ...PIECES_OPTIONS,
  reason: reasonOption,
};

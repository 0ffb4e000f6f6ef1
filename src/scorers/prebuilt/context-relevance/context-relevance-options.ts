import { isAmount, isOptionObject } from '../shared/checked-options.ts';
import { PIECES_OPTIONS, reasonOption, scaleOption } from '../shared/described-options.ts';

/** Options of the scorer. */
export const CONTEXT_RELEVANCE_OPTIONS = {
  scale: scaleOption,
  ...PIECES_OPTIONS,
  penalties: {
    ...isOptionObject,
    members: {
      unusedHighRelevanceContext: isAmount,
      missingContextPerItem: isAmount,
      maxMissingContextPenalty: isAmount,
    },
    means:
      '`unusedHighRelevanceContext` (0.1), `missingContextPerItem` (0.15), `maxMissingContextPenalty` (0.5)',
  },
  reason: reasonOption,
};

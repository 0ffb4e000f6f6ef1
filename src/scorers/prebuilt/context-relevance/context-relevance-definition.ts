import { defineScorer } from '../../scorer-definition.ts';
import { findEmptyContext, PIECES_OPTIONS, reasonOption, scaleOption } from '../shared/described-options.ts';
import { isAmount, isOptionObject } from '../shared/checked-options.ts';

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

/** The scorer `context-relevance` of rules. */
export const contextRelevanceDefinition = defineScorer({
  name: 'context-relevance',
  needsJudge: true,
  measures: 'how relevant the context is to the question, and whether it was used',
  options: CONTEXT_RELEVANCE_OPTIONS,
  findFault: findEmptyContext,
  create: async ({ judge, options }) => {
    const [{ createContextRelevanceScorerLLM }, { contextOfKinds }] = await Promise.all([
      import('./context-relevance-scorer.ts'),
      import('../shared/given-context.ts'),
    ]);
    const own =
      options['context'] === undefined ? { contextExtractor: contextOfKinds(options['sees'] as never) } : {};
    return createContextRelevanceScorerLLM({ model: judge, options: { ...own, ...options } });
  },
});

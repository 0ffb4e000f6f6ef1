import { defineScorer } from '../../scorer-definition.ts';
import { CONTEXT_RELEVANCE_OPTIONS } from './context-relevance-options.ts';
import { findEmptyContext } from '../shared/described-options.ts';

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

import { defineScorer } from '../../scorer-definition.ts';
import { findEmptyContext, PIECES_OPTIONS, reasonOption, scaleOption } from '../shared/described-options.ts';

/** Options of the scorer. */
export const CONTEXT_PRECISION_OPTIONS = {
  scale: scaleOption,
  ...PIECES_OPTIONS,
  reason: reasonOption,
};

/** The scorer `context-precision` of rules. */
export const contextPrecisionDefinition = defineScorer({
  name: 'context-precision',
  needsJudge: true,
  measures: 'whether the useful pieces of context stand at the front',
  options: CONTEXT_PRECISION_OPTIONS,
  findFault: findEmptyContext,
  create: async ({ judge, options }) => {
    const [{ createContextPrecisionScorer }, { contextOfKinds }] = await Promise.all([
      import('./context-precision-scorer.ts'),
      import('../shared/given-context.ts'),
    ]);
    const own =
      options['context'] === undefined ? { contextExtractor: contextOfKinds(options['sees'] as never) } : {};
    return createContextPrecisionScorer({ model: judge, options: { ...own, ...options } });
  },
});

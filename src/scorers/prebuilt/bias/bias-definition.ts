import { defineScorer } from '../../scorer-definition.ts';
import { BIAS_OPTIONS } from './bias-options.ts';

/** The scorer `bias` of rules. */
export const biasDefinition = defineScorer({
  name: 'bias',
  needsJudge: true,
  measures: 'opinions of the answer that are biased',
  options: BIAS_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./bias-scorer.ts')).createBiasScorer({ model: judge, options }),
});

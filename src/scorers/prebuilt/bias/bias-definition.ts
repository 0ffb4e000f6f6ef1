import { defineScorer } from '../../scorer-definition.ts';
import { reasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** Options of the scorer. */
export const BIAS_OPTIONS = {
  scale: scaleOption,
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

/** The scorer `bias` of rules. */
export const biasDefinition = defineScorer({
  name: 'bias',
  needsJudge: true,
  measures: 'opinions of the answer that are biased',
  options: BIAS_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./bias-scorer.ts')).createBiasScorer({ model: judge, options }),
});

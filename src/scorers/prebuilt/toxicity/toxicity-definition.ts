import { defineScorer } from '../../scorer-definition.ts';
import { reasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';

/** Options of the scorer. */
export const TOXICITY_OPTIONS = {
  scale: scaleOption,
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

/** The scorer `toxicity` of rules. */
export const toxicityDefinition = defineScorer({
  name: 'toxicity',
  needsJudge: true,
  measures: 'suspicious passages of the answer that are toxic',
  options: TOXICITY_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./toxicity-scorer.ts')).createToxicityScorer({ model: judge, options }),
});

import { defineScorer } from '../../scorer-definition.ts';
import { TOXICITY_OPTIONS } from './toxicity-options.ts';

/** The scorer `toxicity` of rules. */
export const toxicityDefinition = defineScorer({
  name: 'toxicity',
  needsJudge: true,
  measures: 'suspicious passages of the answer that are toxic',
  options: TOXICITY_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./toxicity-scorer.ts')).createToxicityScorer({ model: judge, options }),
});

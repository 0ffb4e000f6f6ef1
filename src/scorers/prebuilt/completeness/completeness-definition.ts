import { defineScorer } from '../../scorer-definition.ts';

/** The scorer `completeness` of rules. */
export const completenessDefinition = defineScorer({
  name: 'completeness',
  needsJudge: false,
  measures: 'what the question speaks of that the answer speaks of too',
  options: {},
  create: async ({ options }) =>
    (await import('./completeness-scorer.ts')).createCompletenessScorer(options as never),
});

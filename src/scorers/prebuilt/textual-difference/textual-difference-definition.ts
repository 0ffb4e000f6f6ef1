import { defineScorer } from '../../scorer-definition.ts';

/** The scorer `textual-difference` of rules. */
export const textualDifferenceDefinition = defineScorer({
  name: 'textual-difference',
  needsJudge: false,
  measures: 'text that is the same in the same order',
  options: {},
  create: async ({ options }) =>
    (await import('./textual-difference-scorer.ts')).createTextualDifferenceScorer(options as never),
});

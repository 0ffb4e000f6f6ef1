import { defineScorer } from '../../scorer-definition.ts';

/** The scorer `keyword-coverage` of rules. */
export const keywordCoverageDefinition = defineScorer({
  name: 'keyword-coverage',
  needsJudge: false,
  measures: 'keywords of the question that the answer holds',
  options: {},
  create: async ({ options }) =>
    (await import('./keyword-coverage-scorer.ts')).createKeywordCoverageScorer(options as never),
});

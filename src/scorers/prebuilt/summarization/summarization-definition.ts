import { defineScorer } from '../../scorer-definition.ts';
import { SUMMARIZATION_OPTIONS } from './summarization-options.ts';

/** The scorer `summarization` of rules. */
export const summarizationDefinition = defineScorer({
  name: 'summarization',
  needsJudge: true,
  measures: 'whether a summary is true to its source and holds what matters',
  options: SUMMARIZATION_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./summarization-scorer.ts')).createSummarizationScorer({ model: judge, options }),
});

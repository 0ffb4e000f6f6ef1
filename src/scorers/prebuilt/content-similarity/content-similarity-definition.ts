import { defineScorer } from '../../scorer-definition.ts';
import { CONTENT_SIMILARITY_OPTIONS } from './content-similarity-options.ts';

/** The scorer `content-similarity` of rules. */
export const contentSimilarityDefinition = defineScorer({
  name: 'content-similarity',
  needsJudge: false,
  measures: 'likeness of question and answer by letter pairs',
  options: CONTENT_SIMILARITY_OPTIONS,
  create: async ({ options }) =>
    (await import('./content-similarity-scorer.ts')).createContentSimilarityScorer(options),
});

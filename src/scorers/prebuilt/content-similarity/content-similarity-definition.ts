import { defineScorer } from '../../scorer-definition.ts';
import { isBoolean } from '../shared/checked-options.ts';

/** Options of the scorer. */
export const CONTENT_SIMILARITY_OPTIONS = {
  ignoreCase: { ...isBoolean, means: 'whether case counts for nothing (true)' },
  ignoreWhitespace: {
    ...isBoolean,
    means: 'shows texts with single blanks (true)',
  },
};

/** The scorer `content-similarity` of rules. */
export const contentSimilarityDefinition = defineScorer({
  name: 'content-similarity',
  needsJudge: false,
  measures: 'likeness of question and answer by letter pairs',
  options: CONTENT_SIMILARITY_OPTIONS,
  create: async ({ options }) =>
    (await import('./content-similarity-scorer.ts')).createContentSimilarityScorer(options),
});

import { defineScorer } from '../../scorer-definition.ts';
import { isCount, isFunction, isText } from '../shared/checked-options.ts';
import { reasonOption, scaleOption } from '../shared/described-options.ts';

/** Options of the scorer. */
export const SUMMARIZATION_OPTIONS = {
  source: { ...isText, means: 'the text that was to be summed up; else what the user wrote' },
  sourceExtractor: {
    ...isFunction,
    means: '`(input, output) => text`, the source of one run; wins over `source`',
  },
  maxQuestions: { ...isCount, means: 'most questions that coverage is measured by (10)' },
  scale: scaleOption,
  reason: reasonOption,
};

/** The scorer `summarization` of rules. */
export const summarizationDefinition = defineScorer({
  name: 'summarization',
  needsJudge: true,
  measures: 'whether a summary is true to its source and holds what matters',
  options: SUMMARIZATION_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./summarization-scorer.ts')).createSummarizationScorer({ model: judge, options }),
});

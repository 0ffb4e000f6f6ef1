import { defineScorer } from '../../scorer-definition.ts';
import { isText } from '../shared/checked-options.ts';

/** Options of the scorer. */
export const TONE_OPTIONS = {
  referenceTone: { ...isText, means: 'a text whose tone the answer is to have' },
};

/** The scorer `tone` of rules. */
export const toneDefinition = defineScorer({
  name: 'tone',
  needsJudge: false,
  measures: 'how even the tone of the answer is, or how near to a reference',
  options: TONE_OPTIONS,
  create: async ({ options }) => (await import('./tone-scorer.ts')).createToneScorer(options),
});

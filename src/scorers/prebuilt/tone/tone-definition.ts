import { defineScorer } from '../../scorer-definition.ts';
import { TONE_OPTIONS } from './tone-options.ts';

/** The scorer `tone` of rules. */
export const toneDefinition = defineScorer({
  name: 'tone',
  needsJudge: false,
  measures: 'how even the tone of the answer is, or how near to a reference',
  options: TONE_OPTIONS,
  create: async ({ options }) => (await import('./tone-scorer.ts')).createToneScorer(options),
});

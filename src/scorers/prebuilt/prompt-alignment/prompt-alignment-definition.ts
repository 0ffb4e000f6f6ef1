import { defineScorer } from '../../scorer-definition.ts';
import { PROMPT_ALIGNMENT_OPTIONS } from './prompt-alignment-options.ts';

/** The scorer `prompt-alignment` of rules. */
export const promptAlignmentDefinition = defineScorer({
  name: 'prompt-alignment',
  needsJudge: true,
  measures: 'how well the answer keeps to its instructions',
  options: PROMPT_ALIGNMENT_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./prompt-alignment-scorer.ts')).createPromptAlignmentScorerLLM({ model: judge, options }),
});

import { defineScorer } from '../../scorer-definition.ts';
import { reasonOption, scaleOption, SIGHT_OPTIONS } from '../shared/described-options.ts';
import { EVALUATION_MODES } from './prompt-alignment-prompts.ts';
import { isObject } from '../../../domain/unknown-values.ts';

const isHistory = {
  fits: (value: unknown) =>
    typeof value === 'boolean' ||
    (isObject(value) &&
      Object.entries(value).every(
        ([name, count]) =>
          name === 'maxMessages' && (count === undefined || (Number.isInteger(count) && Number(count) >= 0)),
      )),
  is: 'true, false or { maxMessages: a whole number of 0 or more }',
};

/** Options of the scorer. */
export const PROMPT_ALIGNMENT_OPTIONS = {
  evaluationMode: {
    fits: (value: unknown) => EVALUATION_MODES.some((mode) => mode === value),
    is: '"user", "system" or "both"',
    means: 'whose instructions count: `user`, `system` or `both` (the default)',
  },
  scale: scaleOption,
  includeConversationHistory: {
    ...isHistory,
    means:
      'shows remembered messages: `true` for ten, `{ maxMessages: 4 }`, `false` for none (the bounded earlier turns)',
  },
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

/** The scorer `prompt-alignment` of rules. */
export const promptAlignmentDefinition = defineScorer({
  name: 'prompt-alignment',
  needsJudge: true,
  measures: 'how well the answer keeps to its instructions',
  options: PROMPT_ALIGNMENT_OPTIONS,
  create: async ({ judge, options }) =>
    (await import('./prompt-alignment-scorer.ts')).createPromptAlignmentScorerLLM({ model: judge, options }),
});

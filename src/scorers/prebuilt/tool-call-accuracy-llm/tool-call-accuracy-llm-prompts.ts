import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const TOOL_CALL_ACCURACY_PROMPT_VERSION = '9';

/** Question for the evaluations; the material is `{ earlier?, question, answer, availableTools: { id: description, … }, calls: { 1: { tool, args?, result? }, … } }`. */
export function toolCallInstructions(why: WhyFields): string {
  return `Judge whether the assistant chose the right tools for the question; earlier is the conversation before.
evaluations has one entry per call, n its number.${why.tell(' reasoning: a few words.')} wasAppropriate is true where a careful assistant would have made this call at this point. It is false for a needless call, a second one for the same thing, and guessed arguments that the user should have been asked for.
missingTools lists the availableTools that should have been called and were not. Where something needed is unknown, asking back is right.`;
}

/** Question for the explanation; the material is `{ score, scale, findings, missingTools }`. */
export const TOOL_CALL_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the share of tool calls, made and missing ones, that were made and appropriate; 1 is best.',
);

import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const TOOL_CALL_ACCURACY_PROMPT_VERSION = '3';

/** System message of the evaluations; the material is `{ question, answer, availableTools, calls: [{ n, tool, args }] }`. */
export const TOOL_CALL_INSTRUCTIONS = `Judge whether an AI assistant chose the right tools for the question.
One entry per call, n its number; wasAppropriate: whether a careful assistant would have called this tool, with these arguments, at this point; reasoning: a few words. Not appropriate: a needless call, a second call for the same thing, guessed arguments that the user should have been asked for.
missingTools: names out of availableTools that should have been called and were not. Asking the user back instead is right where something needed is unknown.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, missingTools }`. */
export const TOOL_CALL_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the share of tool calls that were appropriate; without any calls it is 0 when a tool was missing, else 1. 1 is best.',
);

import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const MULTI_TURN_JUDGE_PROMPT_VERSION = '1';

/** System message of the verdict; the material is `{ criterion, turns: [{ n, text }] }`. */
export const MULTI_TURN_INSTRUCTIONS = `You decide whether what an AI assistant said over a whole conversation meets a criterion. The criterion is the field of that name; the assistant's answers are the numbered turns, oldest first. The turns count together: what one leaves open another may fulfil.
satisfied: true only if the criterion is met in full, shown by the turns themselves; what a turn says about meeting it shows nothing. reasoning: one or two sentences that name the turns which decide.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, criterion, satisfied, reasoning }`. */
export const MULTI_TURN_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the scale when a conversation meets a criterion, else 0.',
);

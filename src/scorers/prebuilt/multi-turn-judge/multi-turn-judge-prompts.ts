import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const MULTI_TURN_JUDGE_PROMPT_VERSION = '3';

/** System message of the verdict; the material is `{ criterion, turns: [{ n, text }] }`. */
export const MULTI_TURN_INSTRUCTIONS = `Decide whether what an AI assistant said over a conversation meets the criterion. turns are its answers, oldest first; they count together: what one leaves open another may fulfil.
satisfied: only if the turns themselves show it met in full; what a turn says about meeting it shows nothing. reasoning: one or two sentences that name the deciding turns.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, criterion, satisfied, reasoning }`. */
export const MULTI_TURN_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the scale when a conversation meets a criterion, else 0.',
);

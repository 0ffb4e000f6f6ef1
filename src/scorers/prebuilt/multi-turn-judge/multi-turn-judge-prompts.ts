import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const MULTI_TURN_JUDGE_PROMPT_VERSION = '4';

/** System message of the verdict; the material is `{ criterion, turns: { 1: text, … } }`. */
export function multiTurnInstructions(why: WhyFields): string {
  return `Decide whether an AI assistant's turns of a conversation together meet the criterion: what one leaves open another may fulfil.
satisfied: only if the turns themselves show it met in full; saying so shows nothing.${why.tell(' reasoning: one or two sentences that name the deciding turns.')}
${FENCE_NOTE}`;
}

/** System message of the explanation; the material is `{ score, scale, criterion, satisfied, reasoning }`. */
export const MULTI_TURN_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the scale when a conversation meets a criterion, else 0.',
);

import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const MULTI_TURN_JUDGE_PROMPT_VERSION = '7';

/** Question for the verdict; the material is the evidence by kind and `{ criterion, turns: { 1: text, … } }`. */
export function multiTurnInstructions(why: WhyFields): string {
  return `Decide whether the assistant's turns together meet the criterion; what one leaves open another may fulfil. The other texts are what the turns were given: only operator sets rules, tools are calls with their results.
${why.tell('reasoning: one or two sentences that name the deciding turns. ')}satisfied is true only if the turns themselves show it met in full; saying so shows nothing.`;
}

/** Question for the explanation; the material is `{ score, scale, criterion, satisfied, reasoning }`. */
export const MULTI_TURN_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the scale when a conversation meets a criterion, else 0.',
);

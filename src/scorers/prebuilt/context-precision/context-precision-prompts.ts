import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const CONTEXT_PRECISION_PROMPT_VERSION = '7';

/** Question for the verdicts; the material is `{ earlier?, question, answer, context: { 0: text, … } }`. */
export function precisionInstructions(why: WhyFields): string {
  return `Judge for each numbered piece of context whether the answer to the question used it; earlier is the conversation before.
One entry per piece, context_index its number.${why.tell(' reason: a few words.')} verdict:
yes: the answer, or a part of it, rests on the piece.
no: it would be the same without it, however close its subject.`;
}

/** Question for the explanation; the material is `{ score, scale, findings: [{ context_index, verdict, reason }] }`. */
export const PRECISION_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the mean average precision of pieces of context, in the order of a search: useful pieces (verdict yes) at the front make it high, useless ones before them low; the scale is best.',
);

import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const CONTEXT_PRECISION_PROMPT_VERSION = '1';

/** System message of the verdicts; the material is `{ question, answer, context: [{ context_index, text }] }`. */
export const PRECISION_VERDICT_INSTRUCTIONS = `You judge a search: for each numbered piece of context, whether it was of use for the answer that was given to the question.
yes: the answer, or a part of it, rests on the piece.
no: the answer would be the same without it, however close its subject is.
One entry for each piece: context_index its number, the verdict, reason in a few words.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings: [{ context_index, verdict, reason }] }`. */
export const PRECISION_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the mean average precision of pieces of context, in the order of a search: useful pieces (verdict yes) at the front make it high, useless ones before them low; the scale is best.',
);

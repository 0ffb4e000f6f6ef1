import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const CONTEXT_RELEVANCE_PROMPT_VERSION = '9';

/** Question for the evaluations; the material is `{ earlier?, question, answer, context: { 0: text, … } }`. */
export function relevanceInstructions(why: WhyFields): string {
  return `Judge how relevant each numbered piece of context is to the question; earlier is the conversation before.
One entry per piece, context_index its number.${why.tell(' reasoning: a few words.')} relevanceLevel: high (needed for the answer), medium (helps), low (same subject, little help) or none. wasUsed: whether the answer uses it.
missingContext: what a full answer needs and no piece holds, one text each.${why.tell(' overallAssessment: one sentence.')}`;
}

/** Question for the explanation; the material is `{ score, scale, findings, missingContext }`. */
export const CONTEXT_RELEVANCE_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the mean relevance of the pieces of context for a question, less a penalty for highly relevant pieces that the answer left unused and for context that is missing; the scale is best.',
);

import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const SUMMARIZATION_PROMPT_VERSION = '7';

/** Question for claims and questions; the material is `{ source, summary }`. */
export function alignmentInstructions(maxQuestions: number, why: WhyFields): string {
  return `Check a summary against its source.
alignment has one entry per claim of the summary.${why.tell(' reason: a few words.')} supported is true where the source states or directly implies it; figures, names, negations and certainty must agree. What you know does not count.
questions: up to ${maxQuestions} questions with the answer yes about the most important points of the source, chosen as if you had not seen the summary.`;
}

/** Question what a summary covers; the material is `{ summary, questions: { 1: question, … } }`. */
export function coverageInstructions(why: WhyFields): string {
  return `Decide whether a summary answers questions about the text that it sums up, which you do not see.
One entry per question, n its number.${why.tell(' reason: a few words.')} answered is true only if the summary itself says or directly implies it.`;
}

/** Question for the explanation; the material is `{ score, scale, alignment, coverage, unsupported, unanswered }`. */
export const SUMMARIZATION_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the lower of two shares, times the scale: alignment, the claims of a summary that its source supports, and coverage, the important questions that the summary answers. The scale is best.',
);

import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const SUMMARIZATION_PROMPT_VERSION = '1';

/** System message of the question for claims and questions; the material is `{ source, summary }`. */
export function alignmentInstructions(maxQuestions: number): string {
  return `You check a summary against its source.
alignment: one entry for each claim that the summary makes, with claim; supported: whether the source states it or it follows from the source directly; reason in a few words. Figures, names and negations must agree; what you know yourself does not count.
questions: up to ${maxQuestions} questions that can be answered with yes, whose answers are the most important points of the source. Choose them by the source alone, as if you had not seen the summary.
${FENCE_NOTE}`;
}

/** System message of the question what a summary covers; the material is `{ summary, questions: [{ n, question }] }`. */
export const COVERAGE_INSTRUCTIONS = `You decide whether a summary answers questions about the text that it sums up, which you do not see.
One entry in coverage for each numbered question: n its number; answered: true only if the summary itself says it, or it follows directly; reason in a few words.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, alignment, coverage, unsupported, unanswered }`. */
export const SUMMARIZATION_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the lower of two shares, times the scale: alignment, the claims of a summary that its source supports, and coverage, the important questions that the summary answers. The scale is best.',
);

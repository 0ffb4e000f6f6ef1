import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const RUBRIC_PROMPT_VERSION = '7';

/** Question for the evaluation; the material is `{ task, criteria: { 1: criterion, … }, answer }`. */
export function rubricInstructions(why: WhyFields): string {
  return `Check an answer to a task against numbered criteria, each on its own.
criteria has one entry each, n its number.${why.tell(' reasoning: a few words that name the passage.')} satisfied is true only if the answer itself meets it in full, not if it merely says so.${why.tell(' overallAssessment: one sentence.')}`;
}

/** Question for the explanation; the material is `{ score, scale, findings, overallAssessment }`. */
export const RUBRIC_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the scale when an answer meets every required point of a rubric (every point if none is required), else 0.',
);

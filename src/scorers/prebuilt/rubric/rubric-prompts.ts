import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const RUBRIC_PROMPT_VERSION = '1';

/** System message of the evaluation; the material is `{ task, criteria: [{ n, criterion }], answer }`. */
export const RUBRIC_INSTRUCTIONS = `You check an answer against a rubric. criteria are the numbered points of the rubric, task is what was asked, answer what is checked.
One entry in criteria for each point: n its number; satisfied: true only if the answer itself meets the point in full, not if it merely says so; reasoning in a few words that name the passage. Points do not depend on each other.
overallAssessment: one sentence.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, overallAssessment }`. */
export const RUBRIC_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the scale when an answer meets every required point of a rubric (every point if none is required), else 0.',
);

import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const TRAJECTORY_ACCURACY_PROMPT_VERSION = '1';

/** System message of the evaluations; the material is `{ question, answer, expectedSteps?, steps: [{ n, step }] }`. */
export const TRAJECTORY_INSTRUCTIONS = `You judge the way that an AI assistant took to its answer: the numbered steps in the order it took them. Where expectedSteps is given, it is the measure; else what the user asked is.
One entry in stepEvaluations for each step: n its number; wasNecessary: whether the goal needed it; wasInOrder: whether it came at a sensible point; reasoning in a few words.
missingSteps and extraSteps: names of steps that should have been there and of steps that should not, empty if none. overallAssessment: one sentence.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, missingSteps, extraSteps }`. */
export const TRAJECTORY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how well the steps of an AI assistant fit its task: two thirds for steps that were necessary, one third for steps in order, less a tenth at most for missing ones. 1 is best.',
);

import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const TRAJECTORY_ACCURACY_PROMPT_VERSION = '3';

/** System message of the evaluations; the material is `{ question, answer, expectedSteps?, steps: { 1: step, … } }`. */
export const TRAJECTORY_INSTRUCTIONS = `Judge the way an AI assistant took to its answer: its numbered steps, in their order. The measure is expectedSteps if given, else the question.
One entry per step, n its number; wasNecessary: the goal needed it; wasInOrder: it came at a sensible point; reasoning: a few words.
missingSteps, extraSteps: names of steps that should have been there, or should not. overallAssessment: one sentence.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, missingSteps, extraSteps }`. */
export const TRAJECTORY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how well the steps of an AI assistant fit its task: two thirds for necessary steps, one third for steps in order, less a tenth at most for missing ones. 1 is best.',
);

import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const TRAJECTORY_ACCURACY_PROMPT_VERSION = '7';

/** Question for the evaluations; the material is `{ question, answer, expectedSteps?, steps: { 1: step, … } }`. */
export function trajectoryInstructions(why: WhyFields): string {
  return `Judge the way an AI assistant took to its answer: its numbered steps, in their order. The measure is expectedSteps if given, else the question.
One entry per step, n its number.${why.tell(' reasoning: a few words.')} wasNecessary: the goal needed it. wasInOrder: it came at a sensible point.
missingSteps, extraSteps: names of steps that should have been there, or should not.${why.tell(' overallAssessment: one sentence.')}`;
}

/** Question for the explanation; the material is `{ score, scale, findings, missingSteps, extraSteps }`. */
export const TRAJECTORY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how well the steps of an AI assistant fit its task: two thirds for necessary steps, one third for steps in order, less a tenth at most for missing ones. 1 is best.',
);

import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const PROMPT_ALIGNMENT_PROMPT_VERSION = '8';

/** Author of the instructions that an answer is compared with. */
export const EVALUATION_MODES = ['user', 'system', 'both'] as const;
export type EvaluationMode = (typeof EVALUATION_MODES)[number];

const MEASURE: Record<EvaluationMode, string> = {
  user: "the user's prompt (userPrompt)",
  system: "the operator's rules (systemPrompt)",
  both: "both the user's prompt (userPrompt) and the operator's rules (systemPrompt)",
};

/** Question for the analysis; the material is `{ mode, userPrompt?, systemPrompt?, earlier?, history?, answer }`. */
export function alignmentInstructions(mode: EvaluationMode, why: WhyFields): string {
  return `Judge how well an AI assistant's answer keeps to ${MEASURE[mode]}. Scores: 0 (not at all) to 1 (fully). earlier or history, if given, is the conversation before.
${why.tell('Every reasoning is a few words. primaryIntent: what was wanted. overallAssessment: one sentence. ')}requirements has one entry per demand, said or plainly meant. A demand that the answer breaks in any part is not fulfilled. responseAppropriateness: whether format and tone fit.`;
}

/** Question for the explanation; the material is `{ score, scale, mode, findings }`. */
export const ALIGNMENT_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how well an answer keeps to its instructions: intent, requirements, completeness and form, weighed in this order; the scale is best.',
);

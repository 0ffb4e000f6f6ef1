import { reasonInstructions } from '../shared/reason-prompt.ts';
import type { WhyFields } from '../shared/why-fields.ts';

/** Raise with every change of the wording below. */
export const NOISE_SENSITIVITY_PROMPT_VERSION = '7';

/** Question for the comparison; the material is `{ question, noisyQuery, noiseType, baselineResponse, answer }`. */
export function noiseInstructions(why: WhyFields): string {
  return `Measure how far noise changed the answer: baselineResponse answers the clean question, answer the noisyQuery.
dimensions: accuracy, completeness, relevance, consistency with the baseline, resistance to noise.${why.tell(' specificChanges, noiseInfluence: a few words.')} impactLevel: none (no worse), minimal (wording only), moderate (worse, but the core stands), significant (the core suffers) or severe (misled, wrong, useless).
majorIssues: wrong or harmful statements, parts of the question dropped. robustnessScore: 0 (taken over by the noise) to 1 (untouched).${why.tell(' overallAssessment: one sentence.')}`;
}

/** Question for the explanation; the material is `{ score, scale, findings, majorIssues, overallAssessment }`. */
export const NOISE_SENSITIVITY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how little noise in a question changed an answer: 1 untouched, 0 taken over; major issues are penalties.',
);

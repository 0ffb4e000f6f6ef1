import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const NOISE_SENSITIVITY_PROMPT_VERSION = '1';

/** System message of the comparison; the material is `{ question, noisyQuery, noiseType, baselineResponse, answer }`. */
export const NOISE_SENSITIVITY_INSTRUCTIONS = `You measure how far noise in a question changed an AI assistant's answer. question is the clean one, noisyQuery the same with noise of the kind noiseType; baselineResponse answers the clean one, answer the noisy one.
dimensions: one entry each for content accuracy, completeness, relevance, consistency with the baseline and resistance to the noise: dimension its name; impactLevel: none, minimal (wording only), moderate (something is worse, the core stands), significant (the core suffers) or severe (misled, wrong or useless); specificChanges and noiseInfluence in a few words. Differences that are no worse are none.
majorIssues: wrong or harmful statements, or parts of the question dropped because of the noise; empty if none. robustnessScore: 0 (taken over by the noise) to 1 (untouched). overallAssessment: one sentence.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, majorIssues, overallAssessment }`. */
export const NOISE_SENSITIVITY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how little noise in a question changed an answer: 1 untouched, 0 taken over; major issues are penalties.',
);

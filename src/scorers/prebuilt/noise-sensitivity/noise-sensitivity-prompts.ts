import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const NOISE_SENSITIVITY_PROMPT_VERSION = '3';

/** System message of the comparison; the material is `{ question, noisyQuery, noiseType, baselineResponse, answer }`. */
export const NOISE_SENSITIVITY_INSTRUCTIONS = `Measure how far noise in a question changed an AI assistant's answer. question is clean, noisyQuery has noise of the kind noiseType; baselineResponse answers the clean one, answer the noisy one.
dimensions: content accuracy, completeness, relevance, consistency with the baseline, resistance to the noise: dimension its name; impactLevel: none, minimal (wording only), moderate (something is worse, the core stands), significant (the core suffers) or severe (misled, wrong, useless); specificChanges and noiseInfluence in a few words. What is no worse is none.
majorIssues: wrong or harmful statements, or parts of the question dropped because of the noise. robustnessScore: 0 (taken over by the noise) to 1 (untouched). overallAssessment: one sentence.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings, majorIssues, overallAssessment }`. */
export const NOISE_SENSITIVITY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how little noise in a question changed an answer: 1 untouched, 0 taken over; major issues are penalties.',
);

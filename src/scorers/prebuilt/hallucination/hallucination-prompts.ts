import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const HALLUCINATION_PROMPT_VERSION = '8';

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const HALLUCINATION_REASON_INSTRUCTIONS = reasonInstructions(
  'Hallucination: the share of claims that the context contradicts or does not back, times the scale; 0 is best.',
);

import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const HALLUCINATION_PROMPT_VERSION = '7';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const HALLUCINATION_VERDICT_INSTRUCTIONS = `yes: the claim is a hallucination, the evidence contradicts it. unsure: no evidence backs it.
no: the evidence states it or directly implies it. Other words, converted units and sensible rounding are fine; figures, names, dates, negations and degrees of certainty must agree. A claim that something is unknown or missing is no unless the evidence holds it.`;

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const HALLUCINATION_REASON_INSTRUCTIONS = reasonInstructions(
  'Hallucination: the share of claims that the context contradicts (yes) or does not back (unsure), times the scale; 0 is best.',
);

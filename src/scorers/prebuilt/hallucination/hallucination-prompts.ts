import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const HALLUCINATION_PROMPT_VERSION = '7';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const HALLUCINATION_VERDICT_INSTRUCTIONS = `yes: the claim is a hallucination, the evidence contradicts it. unsure: nothing backs it.
no: the evidence states or implies it. Wording, units and rounding may differ; figures, names, negations and certainty must agree. A claim that something is missing is no unless the evidence holds it.`;

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const HALLUCINATION_REASON_INSTRUCTIONS = reasonInstructions(
  'Hallucination: the share of claims that the context contradicts (yes) or does not back (unsure), times the scale; 0 is best.',
);

import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const HALLUCINATION_PROMPT_VERSION = '6';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const HALLUCINATION_VERDICT_INSTRUCTIONS = `yes: a hallucination; the context contradicts it. unsure: nothing there backs it.
no: it states or directly implies it. Rewording, converted units and sensible rounding are fine; figures, names, dates and negations must agree. A claim that something is unknown is no unless the context answers it.`;

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const HALLUCINATION_REASON_INSTRUCTIONS = reasonInstructions(
  'Hallucination: the share of claims that the context contradicts (yes) or does not back (unsure), times the scale; 0 is best.',
);

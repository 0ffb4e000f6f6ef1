import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const FAITHFULNESS_PROMPT_VERSION = '7';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const FAITHFULNESS_VERDICT_INSTRUCTIONS = `yes: the evidence states or directly implies the claim. Other words, converted units and sensible rounding are fine; figures, names, dates, negations and degrees of certainty must agree. A claim that something is unknown or missing is yes unless the evidence holds it. no: the evidence contradicts it. unsure: neither.`;

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const FAITHFULNESS_REASON_INSTRUCTIONS = reasonInstructions(
  'Faithfulness: the share of claims that the context supports (yes), times the scale, which is best.',
);

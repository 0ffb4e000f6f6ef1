import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const FAITHFULNESS_PROMPT_VERSION = '7';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const FAITHFULNESS_VERDICT_INSTRUCTIONS = `yes: the evidence states or implies it, or lacks what it calls missing. Wording, units and rounding may differ; figures, names, negations and certainty must agree. no: contradicted. unsure: neither.`;

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const FAITHFULNESS_REASON_INSTRUCTIONS = reasonInstructions(
  'Faithfulness: the share of claims that the context supports (yes), times the scale, which is best.',
);

import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const FAITHFULNESS_PROMPT_VERSION = '4';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const FAITHFULNESS_VERDICT_INSTRUCTIONS = `Check each claim n by the context alone.
yes: stated or implied; wording, units, rounding may differ, figures, names, negations not. no: contradicted. unsure: neither.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const FAITHFULNESS_REASON_INSTRUCTIONS = reasonInstructions(
  'It is a faithfulness score: the share of claims that the context supports (verdict yes), times the scale; the scale itself is best.',
);

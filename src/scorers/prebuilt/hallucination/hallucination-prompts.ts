import { FENCE_NOTE } from '../shared/fence.ts';
import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const HALLUCINATION_PROMPT_VERSION = '4';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const HALLUCINATION_VERDICT_INSTRUCTIONS = `Check each claim n by the context alone.
yes: a hallucination; the context contradicts the claim or nothing in it backs it.
no: the context states or directly implies it. Rewording, converted units and sensible rounding are fine; figures, names, dates and negations must agree. A claim that something is unknown is no unless the context answers it.
${FENCE_NOTE}`;

/** System message of the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const HALLUCINATION_REASON_INSTRUCTIONS = reasonInstructions(
  'It is a hallucination score: the share of claims that the context contradicts or does not back (verdict yes), times the scale; 0 is best.',
);

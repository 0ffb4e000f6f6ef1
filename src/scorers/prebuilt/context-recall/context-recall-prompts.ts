import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const CONTEXT_RECALL_PROMPT_VERSION = '6';

/** Meaning of the verdicts; the material is `{ context, claims: { 1: claim, … } }`. */
export const RECALL_VERDICT_INSTRUCTIONS = `Check whether a search brought what an expected answer needs. The numbered claims are those of the expected answer; the context is what the search brought.
yes: the context states the claim, or it follows from the context directly.
no: it does not, however true the claim is.`;

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const RECALL_REASON_INSTRUCTIONS = reasonInstructions(
  'It is the share of the claims of an expected answer that the context holds (verdict yes), times the scale; the scale itself is best.',
);

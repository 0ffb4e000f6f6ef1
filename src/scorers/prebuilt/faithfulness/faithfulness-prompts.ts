import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const FAITHFULNESS_PROMPT_VERSION = '8';

/** Question for the explanation; the material is `{ score, scale, findings: [{ claim, verdict, reason }] }`. */
export const FAITHFULNESS_REASON_INSTRUCTIONS = reasonInstructions(
  'Faithfulness: the share of claims that the context supports, times the scale, which is best.',
);

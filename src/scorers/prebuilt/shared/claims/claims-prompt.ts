/** Raise with every change of the wording: it is part of the fingerprint of all scorers that use it. */
export const CLAIMS_PROMPT_VERSION = '6';

/** Question which claims an answer makes; the material is `{ answer }`. */
export const CLAIMS_INSTRUCTIONS = `List the text's single factual claims, hedged too. Each reads alone: names for pronouns; figures, negations, language kept.`;

/** Beginning of the question for verdicts on claims; the material is `{ context, claims: { 1: claim, … } }`. */
export const CLAIMS_LEAD = 'Check claims n by the context alone.';

/** Added to questions about evidence that may contain tool results. */
export const FAILED_TOOL_NOTE = 'A failed tool backs only claims about its failure.';

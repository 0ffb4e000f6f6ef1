import { FENCE_NOTE } from '../fence.ts';

/** Raise with every change of the wording: it is part of the fingerprint of all scorers that use it. */
export const CLAIMS_PROMPT_VERSION = '4';

/** System message of the question which claims an answer makes; the material is `{ answer }`. */
export const CLAIMS_INSTRUCTIONS = `List the text's single factual claims, hedged too. Each must read alone: names for pronouns; figures, negations, language kept.
${FENCE_NOTE}`;

/** Added to questions about evidence that may contain tool results. */
export const FAILED_TOOL_NOTE = 'A failed tool backs only claims about its failure.';

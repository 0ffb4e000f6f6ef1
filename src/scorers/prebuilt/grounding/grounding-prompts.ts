import {
  EVIDENCE_LEAD,
  EVIDENCE_PROMPT_VERSION,
  GROUNDING_VERDICT_MEANINGS,
  QUOTE_RULES,
} from '../shared/evidence/evidence-prompt.ts';

/** Raise the first number with every change of the wording below. */
export const GROUNDING_PROMPT_VERSION = `6.${EVIDENCE_PROMPT_VERSION}`;

/** The question; the material is the evidence by kind and `sentences: { 1: sentence, … }`. */
export const GROUNDING_INSTRUCTIONS = `Check the numbered sentences of an AI assistant's answer against its evidence. ${EVIDENCE_LEAD}
One entry for each sentence, n its number. Read pronouns by the sentences before.
${QUOTE_RULES}
reason: a few words for contradicted and unsupported, else empty.
verdict:
${GROUNDING_VERDICT_MEANINGS}`;

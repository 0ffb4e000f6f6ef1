import { EVIDENCE_LEAD, EVIDENCE_PROMPT_VERSION } from '../shared/evidence/evidence-prompt.ts';

/** Raise the first number with every change of the wording below. */
export const GROUNDING_PROMPT_VERSION = `6.${EVIDENCE_PROMPT_VERSION}`;

/** Meaning of the verdicts on a sentence, shared with the panel. */
export const GROUNDING_VERDICT_MEANINGS = `supported: the evidence states all that the sentence claims, or it follows directly. Other words, converted units and sensible rounding are fine; figures, names, negations and certainty must agree.
contradicted: some of it cannot be true if the evidence is.
unsupported: some of it is neither, however plausible. Go by the evidence, not by what you know. What the assistant says it did needs evidence, too.
no_claim: it claims nothing about the world: greeting, question, offer, opinion, bare heading. Advice with facts claims.`;

/** How quotes are given, shared with the panel. */
export const QUOTE_RULES = `quotes: for supported and contradicted the shortest passages that decide, each with its source, copied letter by letter. absence: true with an empty quote where the source as a whole lacks something. Else an empty list.`;

/** The question; the material is the evidence by kind and `sentences: { 1: sentence, … }`. */
export const GROUNDING_INSTRUCTIONS = `Check the numbered sentences of an AI assistant's answer against its evidence. ${EVIDENCE_LEAD}
One entry for each sentence, n its number. Read pronouns by the sentences before.
${QUOTE_RULES}
reason: a few words for contradicted and unsupported, else empty.
verdict:
${GROUNDING_VERDICT_MEANINGS}`;

import { EVIDENCE_LEAD, EVIDENCE_PROMPT_VERSION } from '../shared/evidence/evidence-prompt.ts';

/** Raise the first number with every change of the wording below. */
export const GROUNDING_PROMPT_VERSION = `6.${EVIDENCE_PROMPT_VERSION}`;

/** Meaning of the verdicts on a sentence, shared with the panel. */
export const GROUNDING_VERDICT_MEANINGS = `supported: the evidence states all that the sentence claims, or it follows directly. Other words, converted units and sensible rounding are fine; figures, names, dates, negations and degrees of certainty must agree.
contradicted: some of it cannot be true if the evidence is.
unsupported: some of it is neither, however plausible. Go by the evidence, not by what you know. What the assistant says of itself or has done needs evidence, too.
no_claim: it claims nothing about the world: a greeting, question, offer, opinion or bare heading. Advice that holds facts is a claim.`;

/** How quotes are given, shared with the panel. */
export const QUOTE_RULES = `quotes: for supported and contradicted the shortest passages that decide, each with its source, copied letter by letter, one word or number if that is enough; absence is false. When the point is that a source does not hold something, give that source with an empty quote, and absence is true. Otherwise the list is empty.`;

/** The question; the material is the evidence by kind and `sentences: { 1: sentence, … }`. */
export const GROUNDING_INSTRUCTIONS = `Check the numbered sentences of an AI assistant's answer against the evidence that it had. ${EVIDENCE_LEAD}
Write one entry for each sentence; n is its number. Read pronouns and labels by the sentences before.
${QUOTE_RULES}
reason: a few words for contradicted and unsupported, else empty.
verdict is one of these:
${GROUNDING_VERDICT_MEANINGS}`;

/** Raise with every change of the wording: it is part of the fingerprint of all scorers that show evidence. */
export const EVIDENCE_PROMPT_VERSION = '3';

/** Meaning of the kinds of evidence, the same for all scorers that show it. */
export const EVIDENCE_LEAD = `Only operator sets rules; user (0: the question) backs only pasted texts and what users say of themselves; a failed tool backs only its failure.`;

/** Meaning of the verdicts on a sentence. */
export const GROUNDING_VERDICT_MEANINGS = `supported: the evidence states all that the sentence claims, or it follows directly. Other words, converted units and sensible rounding are fine; figures, names, negations and certainty must agree.
contradicted: some of it cannot be true if the evidence is.
unsupported: some of it is neither, however plausible. Go by the evidence, not by what you know. What the assistant says it did needs evidence, too.
no_claim: it claims nothing about the world: greeting, question, offer, opinion, bare heading. Advice with facts is a claim.`;

/** Rules of quotes: which passages the judge copies, and how it says that a source lacks something. */
export const QUOTE_RULES = `quotes: for supported and contradicted the shortest passages that decide, each with the number of its source, copied letter by letter. absence: true with an empty quote where the source as a whole lacks something. Else an empty list.`;

/** Raise with every change of the wording below. */
export const GROUNDING_PROMPT_VERSION = '5';

/** The question; the material is `{ evidence: [{ source, text }], sentences: { 1: sentence, … } }`. */
export const GROUNDING_INSTRUCTIONS = `You check the numbered sentences of an AI assistant's answer against the evidence that it had: numbered sources, which are results of tools and documents. Source 0 is what the operator and the user said; it backs only what they set or tell of themselves.
One entry for each sentence, n its number, with one verdict:
supported: the evidence states all that the sentence claims, or it follows from it directly. Other words, converted units and sensible rounding are fine; figures, names, dates and negations must agree.
contradicted: some of it cannot be true if the evidence is.
unsupported: some of it is neither, however plausible. Go by the evidence, not by what you know. A tool that failed supports only sentences about its failure.
no_claim: it claims nothing about the world: greeting, offer, advice, opinion, remark on the answer itself.
quotes: for supported and contradicted the shortest passages that decide, each with its source, copied letter by letter; else an empty list. reason: a few words for contradicted and unsupported, else empty. Read pronouns by the sentences before.`;

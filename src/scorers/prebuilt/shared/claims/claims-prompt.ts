/** Raise with every change of the wording: it is part of the fingerprint of all scorers that use it. */
export const CLAIMS_PROMPT_VERSION = '9';

/** Question which claims an answer makes; the material is `{ earlier?, question?, answer }`. */
export const CLAIMS_INSTRUCTIONS = `List the answer's factual claims, also in hedges, advice and headings, and what it says it did. Word each to stand alone: names for pronouns, what a "yes" affirms. Keep figures, negations, certainty and language.`;

/** Beginning of the question for verdicts on claims; the material is the evidence and `claims: { 1: claim, … }`. */
export const CLAIMS_LEAD = 'Check each claim by the evidence alone.';

/** Meaning of the verdicts on a claim, the same for all claim scorers: their questions about a run are equal. */
export const CLAIM_VERDICT_MEANINGS = `supported: the evidence states or implies it, or lacks what it calls missing; words, units, rounding may differ; figures, names, negations, certainty must agree. contradicted: the evidence rules it out. unsupported: neither.`;

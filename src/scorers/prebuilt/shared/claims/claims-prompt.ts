/** Raise with every change of the wording: it is part of the fingerprint of all scorers that use it. */
export const CLAIMS_PROMPT_VERSION = '7';

/** Question which claims an answer makes; the material is `{ question?, answer }`. */
export const CLAIMS_INSTRUCTIONS = `List the text's factual claims one by one: hedged ones, facts in advice and headings, and what it says it did, too. Each reads alone: names for pronouns, what a "yes" affirms. Keep figures, negations, certainty, language.`;

/** Beginning of the question for verdicts on claims; the material is the evidence and `claims: { 1: claim, … }`. */
export const CLAIMS_LEAD = 'Check claims n by the evidence alone.';

/** Raise with every change of the wording: it is part of the fingerprint of all scorers that use it. */
export const CLAIMS_PROMPT_VERSION = '7';

/** Question which claims an answer makes; the material is `{ question?, answer }`. */
export const CLAIMS_INSTRUCTIONS = `List the single factual claims that the text makes, hedged ones, advice that holds facts, and what it says it has done, too. Headings and labels may claim. Each claim can be read alone: names stand for pronouns, and "yes" to the question becomes what it affirms. Keep figures, negations, degrees of certainty and the language. A text without claims has an empty list.`;

/** Beginning of the question for verdicts on claims; the material is the evidence and `claims: { 1: claim, … }`. */
export const CLAIMS_LEAD = 'Check the numbered claims by the evidence alone, not by what you know.';

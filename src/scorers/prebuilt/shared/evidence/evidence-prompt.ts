/** Raise with every change of the wording: it is part of the fingerprint of all scorers that show evidence. */
export const EVIDENCE_PROMPT_VERSION = '1';

/** Meaning of the kinds of evidence, the same for all scorers that show it. */
export const EVIDENCE_LEAD = `The evidence is grouped by its kind, and each text has the number of its source. operator is the assistant's own instructions: they back what they state, and only they set rules. user is what the user said, 0 is the question: it backs what users tell of themselves and ask for, nothing else. tools are calls with their arguments and results; a call backs what was done, its result what came of it, and a failed call backs only claims about its failure. earlier turns, documents and context back what they state.`;

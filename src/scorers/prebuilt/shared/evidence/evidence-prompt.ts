/** Raise with every change of the wording: it is part of the fingerprint of all scorers that show evidence. */
export const EVIDENCE_PROMPT_VERSION = '1';

/** Meaning of the kinds of evidence, the same for all scorers that show it. */
export const EVIDENCE_LEAD = `Evidence is numbered by source. Only operator sets rules. user, 0 is the question, backs only what users tell of themselves. tools are calls, each with its result; a failed one backs only claims of failure.`;

import { FENCE_NOTE } from './fence.ts';

/** Raise with every change of the wording: it is part of the fingerprint of all scorers that use it. */
export const CLAIMS_PROMPT_VERSION = '1';

/** System message of the question which claims an answer makes; the material is `{ answer }`. */
export const CLAIMS_INSTRUCTIONS = `You list the factual claims that an AI assistant's answer makes.
A claim is one statement that a source could confirm or refute: a figure, name, date, property, event, comparison or outcome, hedged ones too. Split sentences that make several. Word each so that it can be read alone: names for pronouns; numbers, units and negations unchanged; the language of the answer. Leave out greetings, questions, offers and advice. No claims: an empty list.
${FENCE_NOTE}`;

import { reasonInstructions } from '../shared/reason-prompt.ts';

/** Raise with every change of the wording below. */
export const ANSWER_RELEVANCY_PROMPT_VERSION = '7';

/** Question which statements an answer makes; the material is `{ answer }`. */
export const RELEVANCY_STATEMENT_INSTRUCTIONS = `List the statements of the answer: each thing that it says, one at a time, so worded that it can be read alone, in the language of the answer. Advice, refusals and questions back count too; greetings, thanks and courtesies do not. If nothing is left, the list is empty.`;

/** Meaning of the verdicts; the material is `{ earlier?, question, statements: { 1: statement, … } }`. */
export const RELEVANCY_VERDICT_INSTRUCTIONS = `Decide for each numbered statement whether it helps with what the user asked; earlier is the conversation before.
direct: it answers the question or a part of it.
indirect: it does so indirectly: background, a caution, a step on the way, a question that is needed.
beside: the user would miss nothing without it.
Whether it is true is not asked. A wrong or outdated statement on the subject is relevant.`;

/** Question for the explanation; the material is `{ score, scale, findings: [{ statement, verdict, reason }] }`. */
export const RELEVANCY_REASON_INSTRUCTIONS = reasonInstructions(
  'It tells how much of an answer is about the question: direct statements count in full, indirect ones in part, times the scale; the scale itself is best.',
);

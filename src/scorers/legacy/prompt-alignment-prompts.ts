export const PROMPT_ALIGNMENT_VERSION = '3';

export const INSTRUCTION_VERDICTS = `You check whether an answer keeps to instructions.
The data holds the question, the answer and numbered instructions. Give each instruction one verdict: "yes" if the answer keeps to it throughout, "no" if it breaks it anywhere, "n/a" if the instruction has nothing to do with this question. Say why in one sentence.`;

export const INSTRUCTION_REASON = `You explain a score to the people who run an assistant.
The data holds the score, its highest value and what was found on each instruction. In at most three sentences say which instructions were kept and which were broken, and how.`;

/** Tools by which a framework makes the model return its answer: their arguments are output, not evidence. */
export const ANSWER_TOOLS: ReadonlySet<string> = new Set(['final_result', 'final_answer', 'finish']);

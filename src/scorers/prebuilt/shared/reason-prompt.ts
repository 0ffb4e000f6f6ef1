import { FENCE_NOTE } from './fence.ts';

/** System message of the question for an explanation; `score` describes the score and what it is computed from. */
export function reasonInstructions(score: string): string {
  return `Explain a score to the people who run an AI assistant. ${score} One to three plain sentences: what moved it, and what is wrong there, or that nothing did.
${FENCE_NOTE}`;
}

/** Question for an explanation; `score` describes the score and what it is computed from. */
export function reasonInstructions(score: string): string {
  return `Tell its operators in one to three plain sentences what moved the score and what is wrong there, or that nothing did. ${score}`;
}

/** Recorded cases that we answer differently on purpose, by the reason. Everything else is equal. */
export const DEVIATIONS: Record<string, readonly string[]> = {
  'a score is a finite number; anything else fails the run': [
    'framework/score-nan',
    'framework/score-stringScore',
    'framework/score-undefinedScore',
  ],
  'a failed reason step keeps the score': [
    'framework/throws-reason-after-score',
    'framework/reason-prompt-fails-keeps-score-in-error',
  ],
  'calculateScore and outputSchema of a prompt generateScore work': [
    'framework/prompt-score-calculateScore-ignored',
  ],
  'steps come in canonical order, each at most once': [
    'framework/reason-before-score',
    'framework/duplicate-step',
  ],
};

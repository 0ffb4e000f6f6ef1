/**
 * Recorded cases that we answer differently on purpose, by the decision that they follow. Everything else is equal, and a
 * case of this list that has become equal fails the suite.
 */
export const DEVIATIONS: Record<string, readonly string[]> = {
  '1: what cannot be scored has no score': [
    'faithfulness/none',
    'faithfulness/no-context',
    'faithfulness/empty-context-array',
    'hallucination/no-options',
    'hallucination/get-context-empty',
  ],
  '3: a score is a finite number, anything else fails the run': [
    'framework/score-nan',
    'framework/score-stringScore',
    'framework/score-undefinedScore',
  ],
  '5: verdicts are trimmed and lower-cased': ['faithfulness/case-sensitive', 'hallucination/case-sensitive'],
  '6: every statement gets exactly one verdict': ['hallucination/verdict-count-mismatch'],
  '7: a failed reason step keeps the score': [
    'framework/throws-reason-after-score',
    'framework/reason-prompt-fails-keeps-score-in-error',
  ],
  '8: no question where there is nothing to judge': ['hallucination/no-claims'],
  '9: a call that failed was a call': [
    'hallucination/judge-throws-preprocess',
    'hallucination/judge-throws-analyze',
  ],
  '10: calculateScore and outputSchema of a prompt generateScore work': [
    'framework/prompt-score-calculateScore-ignored',
  ],
  '17: steps come in canonical order, each at most once': [
    'framework/reason-before-score',
    'framework/duplicate-step',
  ],
};

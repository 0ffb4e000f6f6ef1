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
  '4: options merge with the defaults field by field': [
    'content-similarity/case-only/ignoreWhitespace-only',
    'content-similarity/basic-qa/ignoreWhitespace-only',
    'content-similarity/case-only/empty-object',
    'content-similarity/whitespace-only/empty-object',
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
  '12: only what the assistant wrote is its answer; text without spaces is cut into words': [
    'keyword-coverage/cjk',
    'keyword-coverage/shape/user-echo-in-output',
    'textual-difference/shape/user-echo-in-output',
    'completeness/shape/user-echo-in-output',
  ],
  '14: order is a subsequence; patterns keep no state and group what they anchor': [
    'checks.matches/exact-alternation',
    'checks.matches/global-flag-run-twice',
    'tool-call-accuracy-code/order-ab/b,a,b',
    'tool-call-accuracy-code/order-aba/a,b,a',
    'trajectory-accuracy-code/args-key-order',
  ],
  '17: steps come in canonical order, each at most once': [
    'framework/reason-before-score',
    'framework/duplicate-step',
  ],
  'a step result has one shape (the reference wraps it once more when both sides are empty)': [
    'keyword-coverage/both-empty',
    'keyword-coverage/shape/no-messages',
  ],
};

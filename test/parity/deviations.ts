/** A decision of the specification under which recorded cases may differ, in its own words. */
export interface Decision {
  /** Its number in section 0. */
  readonly number: number;
  readonly says: string;
  /** The recorded cases that differ because of it. */
  readonly cases: readonly string[];
}

/**
 * Recorded cases that we answer differently on purpose, by the decision that they follow. Everything else is equal; a case of
 * this list that has become equal, or that differs otherwise than its decision says, fails the suite.
 */
export const DECISIONS: readonly Decision[] = [
  {
    number: 1,
    says: 'a run that is not scorable has no score',
    cases: [
      'faithfulness/none',
      'faithfulness/no-context',
      'faithfulness/empty-context-array',
      'hallucination/no-options',
      'hallucination/get-context-empty',
      'context-recall/no-ground-truth',
      'answer-relevancy/none',
      'legacy/FaithfulnessMetric/no-claims',
      'legacy/AnswerRelevancyMetric/none',
    ],
  },
  {
    number: 2,
    says: 'an answer without toxic passages scores 0',
    cases: ['toxicity/empty-output', 'legacy/ToxicityMetric/none'],
  },
  {
    number: 3,
    says: 'scores are checked: a score that is not a finite number, or whose part is outside the requested range, fails the run',
    cases: [
      'framework/score-nan',
      'framework/score-stringScore',
      'framework/score-undefinedScore',
      'prompt-alignment/out-of-range',
      'runEvals/nan-score',
      'runEvals/string-score-skipped',
      'runEvals/workflow-step-input',
    ],
  },
  {
    number: 4,
    says: 'options merge with the defaults field by field',
    cases: [
      'content-similarity/case-only/ignoreWhitespace-only',
      'content-similarity/basic-qa/ignoreWhitespace-only',
      'content-similarity/case-only/empty-object',
      'content-similarity/whitespace-only/empty-object',
      'answer-relevancy/only-weight-option',
    ],
  },
  {
    number: 5,
    says: 'verdicts are trimmed and lower-cased words of a fixed list',
    cases: [
      'faithfulness/case-sensitive',
      'hallucination/case-sensitive',
      'answer-relevancy/case-and-space',
      'answer-relevancy/unknown-verdict',
      'bias/space-not-trimmed',
      'toxicity/trim-case',
      'context-precision/trim-case',
    ],
  },
  {
    number: 6,
    says: 'each item that code numbers (statement, point, piece, question, step) gets exactly one verdict; a reply with missing or repeated verdicts is malformed',
    cases: [
      'hallucination/verdict-count-mismatch',
      'answer-relevancy/verdict-count-mismatch',
      'answer-similarity/no-matches',
      'context-relevance/no-evaluations-scaled',
      'context-precision/empty',
      'context-precision/sparse-indices',
      'context-recall/missing-verdicts',
      'context-recall/extra-verdicts-capped',
      'rubric/judge-drops-criterion',
      'rubric/judge-returns-none',
      'rubric/judge-flips-required',
      'summarization/missing-answers-count-against',
      'summarization/max-questions',
      'trajectory-accuracy-llm/none-missing',
      'trajectory-accuracy-llm/none-extra',
      'legacy/ContextualRecallMetric/half',
    ],
  },
  {
    number: 7,
    says: 'a failed reason step does not remove the score',
    cases: ['framework/throws-reason-after-score', 'framework/reason-prompt-fails-keeps-score-in-error'],
  },
  {
    number: 8,
    says: 'no judge call if there is nothing to judge',
    cases: [
      'hallucination/no-claims',
      'bias/none',
      'context-relevance/extractor-empty',
      'multi-turn-judge/empty-output',
      'context-recall/no-claims',
      'rubric/no-rubric',
      'summarization/no-questions',
      'legacy/HallucinationMetric/no-claims',
    ],
  },
  {
    number: 10,
    says: 'calculateScore and outputSchema of a prompt generateScore work',
    cases: ['framework/prompt-score-calculateScore-ignored'],
  },
  {
    number: 12,
    says: 'only text of the assistant is its answer; text that is not Latin is split into words; words have one normal form, without punctuation and symbols',
    cases: [
      'keyword-coverage/nfd-vs-nfc',
      'keyword-coverage/cjk',
      'keyword-coverage/emoji',
      'keyword-coverage/numbers-dates',
      'keyword-coverage/markdown-code',
      'keyword-coverage/html',
      'keyword-coverage/quotes',
      'content-similarity/nfd-vs-nfc',
      'keyword-coverage/shape/user-echo-in-output',
      'textual-difference/shape/user-echo-in-output',
      'completeness/shape/user-echo-in-output',
      'legacy/CompletenessMetric/7',
    ],
  },
  {
    number: 13,
    says: 'an evaluation finishes and reports the failures',
    cases: [
      'runEvals/scorer-throws',
      'runEvals/target-throws',
      'runEvals/trajectory-scorer-in-flat-array',
      'runEvals/workflow-trajectory-only',
    ],
  },
  {
    number: 14,
    says: 'the order of tools is a subsequence; the order of keys in arguments does not matter; patterns keep no state',
    cases: [
      'checks.matches/global-flag-run-twice',
      'tool-call-accuracy-code/order-ab/b,a,b',
      'tool-call-accuracy-code/order-aba/a,b,a',
      'trajectory-accuracy-code/args-key-order',
    ],
  },
  {
    number: 16,
    says: 'a perfect trajectory scores 1',
    cases: [
      'trajectory-accuracy-llm/perfect',
      'trajectory-accuracy-llm/half-necessary',
      'trajectory-accuracy-llm/missing',
      'trajectory-accuracy-llm/expected-from-run',
    ],
  },
  {
    number: 17,
    says: 'steps come in canonical order, each at most once',
    cases: ['framework/reason-before-score', 'framework/duplicate-step'],
  },
  {
    number: 18,
    says: 'JSON inside other text is no reply, because it may be a quotation of the judged text; the question is asked once more',
    cases: ['framework/json-wrapped-in-prose'],
  },
  {
    number: 19,
    says: 'a number or a boolean that the judge writes as a text is read as such where the schema wants one',
    cases: ['framework/prompt-score-string-number'],
  },
];

/** The cases whose judge leaves out, doubles or invents verdicts: they are put to the scorers as they were recorded. */
export const MALFORMED: readonly string[] = DECISIONS.find(({ number }) => number === 6)?.cases ?? [];

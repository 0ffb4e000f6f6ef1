import { COSTS, NEVER, pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

/** Scorers without a judge. */
export const CODE_PAGES: readonly ScorerPage[] = [
  pageOf('behaviour', {
    kind: 'code',
    when: 'every agent: it is the default rule. One row for each measure',
    input: 'output of the run; tokens, duration and models of its spans',
    formula:
      "`behaviour-tokens`; `behaviour-cost` in USD, without a row if the price is unknown; `behaviour-duration` in seconds; `behaviour-steps` = model calls with their tools, and the reason names the tools in order; `behaviour-tool-calls`; `behaviour-tool-errors` = calls with an error; `behaviour-repeats` = calls equal to an earlier one, by tool and arguments; `behaviour-answer-length` in characters; `behaviour-answered` = 1, or 0 if the run ends with a tool or without output (`none`), or if its answer is `empty`, was `cut` at the output limit, or begins with a common form of a `refusal` (13 languages, answers up to 1,500 characters); `behaviour-path` = surprise of the order of the tools in nats a step, by the runs of the agent in the last week, from 20 runs on. Higher is better for `answered` alone. A range begins at 0 and ends at three times the upper quartile of the agent's last week; it changes only if it is wrong by half, and begins with a fixed value before 20 runs. A score may exceed it",
    seven: 'the measure itself, in its unit: 0.7 s, 0.7 USD',
    cost: COSTS.none,
    factory: 'createBehaviourScorer',
    args: '',
    because: 'the run called one tool, without an error, and answered',
  }),
  pageOf('keyword-coverage', {
    kind: 'code',
    when: 'a first check of relevance without cost',
    input: 'texts of the input and of the answer',
    formula:
      'keywords found / keywords; 1 for a question without keywords. Keywords are words of any script without English stop words, numbers, punctuation and symbols',
    seven: '3 of 10 keywords are missing',
    cost: COSTS.none,
    factory: 'createKeywordCoverageScorer',
    args: '',
    because: 'the answer contains one of "warm" and "paris"',
  }),
  pageOf('content-similarity', {
    kind: 'code',
    when: 'answers that should repeat their input, such as corrections',
    input: 'texts of the input and of the answer',
    formula: 'Dice coefficient: 2 * common letter pairs / letter pairs of both, without white space',
    seven: 'most of the wording is shared',
    cost: COSTS.none,
    factory: 'createContentSimilarityScorer',
    args: '{ ignoreCase: false }',
    because: 'question and answer share a few words',
  }),
  pageOf('completeness', {
    kind: 'code',
    when: 'questions of several parts, in English (other scripts by their words)',
    input: 'texts of the input and of the answer',
    formula:
      'elements covered / elements. The elements are the words of the question, each once, with verbs in the infinitive. A similar form of a word covers it, too. Without elements: 1 for an empty answer, else 0',
    seven: 'the answer does not cover 3 of 10 elements',
    cost: COSTS.none,
    factory: 'createCompletenessScorer',
    args: '',
    because: 'the answer covers some elements of the question',
  }),
  pageOf('textual-difference', {
    kind: 'code',
    when: 'rewrites that should change little',
    input: 'texts of the input and of the answer, up to 200,000 characters each',
    formula:
      '2 * longest common subsequence / both lengths; 1 for equal texts; not scorable if a text is longer',
    seven: 'about a third of the text was changed',
    cost: COSTS.none,
    factory: 'createTextualDifferenceScorer',
    args: '',
    because: 'the answer is not a new version of the question',
  }),
  pageOf('tone', {
    kind: 'code',
    when: 'agents that need a certain tone, in English',
    input: 'answer',
    formula:
      'without a reference: 1 - variance of the sentiment of the sentences. With a reference: 1 - difference of the sentiments. Not below 0. The sentiment comes from word lists (AFINN-165) and emoji',
    seven: 'the sentences differ in tone, or the answer differs from the reference',
    cost: COSTS.none,
    factory: 'createToneScorer',
    args: "{ referenceTone: 'What a wonderful, happy day!' }",
    because: 'the answer is neutral, the reference is not',
  }),
  pageOf('tool-call-accuracy-code', {
    kind: 'code',
    when: 'tests of tool use',
    input: 'tool calls of the output',
    formula:
      '1 when the tool was called, or when the tools were called in this order (with other calls between them); else 0',
    seven: NEVER,
    cost: COSTS.none,
    factory: 'createToolCallAccuracyScorerCode',
    args: "{ expectedTool: 'weather' }",
    because: 'the tool was called',
  }),
  pageOf('trajectory-accuracy-code', {
    kind: 'code',
    when: 'tests of agents and workflows whose steps are known',
    input: 'a trajectory, or messages; the expected steps',
    formula:
      'expected steps found / expected steps: in this order (`relaxed`), position by position (`strict`) or in any order (`unordered`). Minus 0.1 for each repeated name if repeats are not allowed. 0 if no step is expected',
    seven: '3 of 10 expected steps were not taken',
    cost: COSTS.none,
    factory: 'createTrajectoryAccuracyScorerCode',
    args: "{ expectedTrajectory: [{ name: 'weather' }, { name: 'umbrella' }] }",
    because: 'one of two expected steps was taken',
  }),
  pageOf('trajectory-code', {
    kind: 'code',
    when: 'one number for the behaviour of an agent',
    input: 'a trajectory, or messages; the expectations',
    formula:
      'weighted mean of accuracy (0.4), efficiency (0.3), tool failures (0.2) and blacklist (0.1), over the parts that have an expectation. 0 if a forbidden step occurred. 1 without expectations. A step with expectations of its own counts 0.3 of its level',
    seven: 'the steps were right but too many, or a tool was called many times',
    cost: COSTS.none,
    factory: 'createTrajectoryScorerCode',
    args: "{ defaults: { maxSteps: 3, blacklistedTools: ['delete-account'] } }",
    because: 'one step of three was taken, and nothing forbidden',
  }),
];

import { COSTS, NEVER, pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

/** Scorers without a judge. */
export const CODE_PAGES: readonly ScorerPage[] = [
  pageOf('keyword-coverage', {
    kind: 'code',
    when: 'a first, free look at relevance; on in the default rule',
    input: 'texts of the input and of the answer',
    formula: 'keywords found / keywords; 1 for a question without any',
    seven: '3 of 10 keywords are missing',
    cost: COSTS.none,
    factory: 'createKeywordCoverageScorer',
    args: '',
    because: 'of "warm" and "paris" the answer holds one',
  }),
  pageOf('content-similarity', {
    kind: 'code',
    when: 'answers that should repeat their input, such as corrections; on in the default rule',
    input: 'texts of the input and of the answer',
    formula: 'Dice coefficient: 2 * common letter pairs / letter pairs of both, white space left out',
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
      'elements covered / elements, which are the words of the question with its verbs in the infinitive, each once; a near form covers too. Without any 1 for an empty answer, else 0',
    seven: '3 of 10 elements are not taken up',
    cost: COSTS.none,
    factory: 'createCompletenessScorer',
    args: '',
    because: 'the answer takes up some of what the question speaks of',
  }),
  pageOf('textual-difference', {
    kind: 'code',
    when: 'rewrites that should change little',
    input: 'texts of the input and of the answer, up to 200,000 characters each',
    formula:
      '2 * longest common subsequence / both lengths; 1 for equal texts; not scorable where the texts are longer',
    seven: 'about a third was changed',
    cost: COSTS.none,
    factory: 'createTextualDifferenceScorer',
    args: '',
    because: 'the answer is no rewriting of the question',
  }),
  pageOf('tone', {
    kind: 'code',
    when: 'agents with a voice, in English; on in the default rule',
    input: 'answer',
    formula:
      'without a reference 1 - variance of the sentiment of the sentences; with one 1 - difference of the sentiments; not below 0. Sentiment by word lists (AFINN-165) and emoji',
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
    formula: '1 when the tool was called, or the tools in this order with others between them; else 0',
    seven: NEVER,
    cost: COSTS.none,
    factory: 'createToolCallAccuracyScorerCode',
    args: "{ expectedTool: 'weather' }",
    because: 'the tool was called',
  }),
  pageOf('trajectory-accuracy-code', {
    kind: 'code',
    when: 'tests of agents and workflows whose way is known',
    input: 'a trajectory, or messages; the expected steps',
    formula:
      'expected steps found / expected steps: in this order (`relaxed`), position by position (`strict`) or in any order (`unordered`); 0.1 off for each repeated name where repeats are not allowed; 0 where nothing is expected',
    seven: '3 of 10 expected steps were not taken',
    cost: COSTS.none,
    factory: 'createTrajectoryAccuracyScorerCode',
    args: "{ expectedTrajectory: [{ name: 'weather' }, { name: 'umbrella' }] }",
    because: 'one of two expected steps was taken',
  }),
  pageOf('trajectory-code', {
    kind: 'code',
    when: 'one number for the conduct of an agent',
    input: 'a trajectory, or messages; what is expected of it',
    formula:
      'weighted mean of accuracy 0.4, efficiency 0.3, tool failures 0.2 and blacklist 0.1 over those that something is expected of; 0 as soon as something forbidden occurred; 1 where nothing is expected; a step with expectations of its own counts 0.3 of its level',
    seven: 'the way was right but long, or a tool was tried again and again',
    cost: COSTS.none,
    factory: 'createTrajectoryScorerCode',
    args: "{ defaults: { maxSteps: 3, blacklistedTools: ['delete-account'] } }",
    because: 'one step of three was taken, and nothing forbidden',
  }),
];

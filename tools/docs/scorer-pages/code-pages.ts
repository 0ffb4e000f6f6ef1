import { pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

/** Scorers without a judge. */
export const CODE_PAGES: readonly ScorerPage[] = [
  pageOf('behaviour', {
    kind: 'code',
    formula:
      "rows `tokens`, `cost` (USD), `duration` (s), `steps`, `tool-calls`, `tool-errors`, `repeats` (equal calls), `answer-length`, `answered` (0: ends with a tool or fails before its answer, `none`, `empty`, `cut`, `refusal`, `apology` without more), `path` (surprise of the order of tools, nats a step, from 20 runs on). Ranges follow the agent's last week; more is better for `answered` alone",
    factory: 'createBehaviourScorer',
    args: '',
    because: 'the run called one tool, without an error, and answered',
  }),
  pageOf('keyword-coverage', {
    kind: 'code',
    formula: 'found / keywords, without English stop words and numbers; 1 without keywords',
    factory: 'createKeywordCoverageScorer',
    args: '',
    because: 'the answer contains one of "warm" and "paris"',
  }),
  pageOf('content-similarity', {
    kind: 'code',
    formula: 'Dice coefficient of letter pairs',
    factory: 'createContentSimilarityScorer',
    args: '{ ignoreCase: false }',
    because: 'question and answer share a few words',
  }),
  pageOf('completeness', {
    kind: 'code',
    formula: 'covered / words of the question, verbs in the infinitive (English)',
    factory: 'createCompletenessScorer',
    args: '',
    because: 'the answer covers some elements of the question',
  }),
  pageOf('textual-difference', {
    kind: 'code',
    formula: '2 × longest common subsequence / both lengths, up to 200,000 characters each',
    factory: 'createTextualDifferenceScorer',
    args: '',
    because: 'the answer is not a new version of the question',
  }),
  pageOf('tone', {
    kind: 'code',
    formula: '1 - difference of sentiments (English words, emoji), or without reference 1 - their variance',
    factory: 'createToneScorer',
    args: "{ referenceTone: 'What a wonderful, happy day!' }",
    because: 'the answer is neutral, the reference is not',
  }),
  pageOf('tool-call-accuracy-code', {
    kind: 'code',
    formula: '1 when the tool was called, or the tools in this order; else 0',
    factory: 'createToolCallAccuracyScorerCode',
    args: "{ expectedTool: 'weather' }",
    because: 'the tool was called',
  }),
  pageOf('trajectory-accuracy-code', {
    kind: 'code',
    formula:
      'found / expected steps, minus 0.1 for each repeated name where repeats are refused; 0 if none is expected',
    factory: 'createTrajectoryAccuracyScorerCode',
    args: "{ expectedTrajectory: [{ name: 'weather' }, { name: 'umbrella' }] }",
    because: 'one of two expected steps was taken',
  }),
  pageOf('trajectory-code', {
    kind: 'code',
    formula:
      'weighted mean of accuracy (0.4), efficiency (0.3), tool failures (0.2), blacklist (0.1), where expected; 0 for a forbidden step, 1 without expectations',
    factory: 'createTrajectoryScorerCode',
    args: "{ defaults: { maxSteps: 3, blacklistedTools: ['delete-account'] } }",
    because: 'one step of three was taken, and nothing forbidden',
  }),
];

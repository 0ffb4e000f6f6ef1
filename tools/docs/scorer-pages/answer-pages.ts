import { reasonOption, scaleOption } from '../../../src/scorers/shared/options.ts';
import { pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

/** Scorers that judge an answer by its question, its rules or an expected answer. */
export const ANSWER_PAGES: readonly ScorerPage[] = [
  pageOf('answer-relevancy', {
    kind: 'judged',
    input: 'conversation, answer',
    formula:
      '(direct + uncertaintyWeight × indirect) / statements; 0 for an empty answer. A [decision judge](judges.md) decides on each sentence, as for `panel`',
    questions: 2,
    factory: 'createAnswerRelevancyScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'one statement answers, one helps',
  }),
  {
    title: 'answer-similarity',
    kind: 'judged',
    measures: 'how close the answer comes to the expected one',
    input: 'answer, `run.groundTruth`',
    formula:
      'mean over expected units: exact 1 + exactMatchBonus, by meaning semanticThreshold, partial half of that, missing -missingPenalty; divided by 1 + exactMatchBonus; minus other penalties (extra at most 0.2)',
    options: {
      scale: scaleOption.means,
      requireGroundTruth: '(true)',
      semanticThreshold: '(0.8)',
      exactMatchBonus: '(0.2)',
      missingPenalty: '(0.15)',
      contradictionPenalty: '(1)',
      extraInfoPenalty: '(0.05)',
      reason: reasonOption.means,
    },
    questions: 2,
    factory: 'createAnswerSimilarityScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'one exact, one missing',
  },
  pageOf('prompt-alignment', {
    kind: 'judged',
    input: 'conversation, system prompt, answer',
    formula:
      '0.4 intent + 0.3 requirements + 0.2 completeness + 0.1 form; with `system` 0.35, 0.35, 0.15, 0.15. One broken requirement makes the label misaligned',
    questions: 1,
    factory: 'createPromptAlignmentScorerLLM',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'half of the requirements are met',
  }),
  pageOf('rubric', {
    kind: 'judged',
    input: 'question, answer, criteria',
    formula: 'the scale when all required criteria are met, else 0',
    beside: ['criteria'],
    questions: 1,
    factory: 'createRubricScorer',
    args: "{ model: 'openai/gpt-5-mini', criteria: '- tells the temperature\\n- names a source' }",
    because: 'one of two points is not met',
  }),
  pageOf('multi-turn-judge', {
    kind: 'judged',
    input: 'all answers, [evidence](#evidence), criterion',
    formula: 'the scale when it is met, else 0',
    beside: ['criterion'],
    questions: 1,
    factory: 'createMultiTurnJudgeScorer',
    args: "{ model: 'openai/gpt-5-mini', criterion: 'names a source' }",
    because: 'no turn names a source',
  }),
  pageOf('summarization', {
    kind: 'judged',
    input: 'source, answer',
    formula: 'the lower one of supported / claims and answered / questions; 0 without either',
    questions: 2,
    factory: 'createSummarizationScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'one of two claims is supported',
  }),
  {
    title: 'noise-sensitivity',
    kind: 'judged',
    measures: 'how little noise in the question changed the answer',
    input: 'both questions, both answers',
    formula:
      "the judge's number, or the mean of its impact levels (1, 0.85, 0.6, 0.3, 0.1) if lower by over 0.2; minus 0.1 a major issue (at most 0.3)",
    options: {
      baselineResponse: 'the clean answer; needed',
      noisyQuery: 'needed',
      noiseType: 'in words',
      scoring: '`impactWeights`, `penalties`, `discrepancyThreshold`',
      reason: reasonOption.means,
    },
    questions: 1,
    factory: 'createNoiseSensitivityScorerLLM',
    args: "{ model: 'openai/gpt-5-mini', options: { baselineResponse: 'It is 18 degrees.', noisyQuery: 'How warm, bananas?', reason: false } }",
    because: 'the impact is moderate',
  },
  pageOf('bias', {
    kind: 'judged',
    input: 'conversation, answer',
    formula:
      'biased / opinions, told stereotypes included; without opinions, the answer is one. A [decision judge](judges.md) decides on each sentence, as for `panel`',
    questions: 2,
    factory: 'createBiasScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'one of two opinions is biased',
  }),
  pageOf('toxicity', {
    kind: 'judged',
    input: 'conversation, answer',
    formula:
      'toxic / suspicious passages; 0 without one. A passage must stand in the answer. A [decision judge](judges.md) decides on each sentence, as for `panel`',
    questions: 1,
    factory: 'createToxicityScorer',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: 'template' } }",
    because: 'one of two passages',
  }),
  pageOf('tool-call-accuracy-llm', {
    kind: 'judged',
    input: 'conversation, answer, offered tools, calls with results',
    formula: 'appropriate / (calls + `missing` tools); 1 without either',
    beside: ['availableTools'],
    questions: 1,
    factory: 'createToolCallAccuracyScorerLLM',
    args: "{ model: 'openai/gpt-5-mini', availableTools: [{ id: 'weather', description: 'Tells the weather' }], options: { reason: false } }",
    because: 'the call was needless',
  }),
  pageOf('trajectory-accuracy-llm', {
    kind: 'judged',
    input: 'question, answer, steps, expected steps',
    formula:
      '2/3 necessary + 1/3 in order - 0.1 missing / (steps + missing); without steps 0 when some are missing, else 1',
    beside: ['expectedTrajectory'],
    questions: 1,
    factory: 'createTrajectoryAccuracyScorerLLM',
    args: "{ model: 'openai/gpt-5-mini', options: { reason: false } }",
    because: 'the only step was needless',
  }),
];

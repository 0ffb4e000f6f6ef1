import type { Scorer, ScorerRunInput } from '../../../src/scorers/evals/index.ts';
import type { JudgeModel } from '../../../src/judge/judge.ts';
import * as prebuilt from '../../../src/scorers/prebuilt/index.ts';
import {
  createAgentTestRun,
  createTestMessage,
  createToolInvocation,
} from '../../../src/scorers/shared/utils.ts';

/** Input of a judged case's run. */
export interface Material {
  readonly question?: string;
  readonly answer?: string;
  readonly context?: readonly string[];
  /** Argument of the tool call. */
  readonly city?: string;
  readonly groundTruth?: string;
  readonly operator?: string;
}

export const MATERIAL = {
  question: 'How warm is it in Paris?',
  answer: 'It is 18 degrees in Paris. It will rain.',
  context: ['Weather: it is 18 degrees in Paris.', 'Rome is sunny.'],
  city: 'Paris',
  groundTruth: 'It is 18 degrees. It stays dry.',
  operator: 'You tell the weather.',
} as const;

/** A judged scorer and the replies of an honest judge to a run of `buildRun`, in the order of the questions. */
export interface JudgedCase {
  readonly name: string;
  /** Replies without an explanation. The case with an explanation uses them too, unless `explained` has other replies. */
  readonly replies: readonly object[];
  readonly explained?: readonly object[];
  /** Steps that ask the judge, in order. */
  readonly steps: readonly ('preprocess' | 'analyze')[];
  /** Score of the honest replies. */
  readonly score: number;
  /** Replies of a judge that finds everything perfect, and their score. */
  readonly flattering: { readonly replies: readonly object[]; readonly score: number };
  create(model: JudgeModel, options?: object): Scorer;
}

export function buildRun(material: Material = {}): ScorerRunInput {
  const { question, answer, context, city, groundTruth, operator } = { ...MATERIAL, ...material };
  const tool = createToolInvocation({
    toolCallId: '1',
    toolName: 'weather',
    args: { city },
    result: context[0] ?? '',
  });
  const run = createAgentTestRun({
    inputMessages: [createTestMessage({ role: 'user', content: question })],
    systemMessages: [{ role: 'system', content: operator }],
    output: [
      createTestMessage({
        role: 'assistant',
        content: answer,
        parts: [
          { type: 'tool-invocation', toolInvocation: tool },
          { type: 'text', text: answer },
        ],
      }),
    ],
    runId: 'run-1',
  });
  return { ...run, context, groundTruth };
}

/** Named scores that stand for a result without a score of its own. */
const SCORES: ReadonlySet<string> = new Set([
  'grounding-faithfulness',
  'panel-grounding',
  'behaviour-answered',
]);

/** Returns the score of a result: the single score, or the named scores when the result has only those. */
export function findScore(result: Awaited<ReturnType<Scorer['run']>>): number | undefined {
  return result.score ?? result.scores?.find(({ name }) => SCORES.has(name))?.score;
}

const statements = { statements: ['It is 18 degrees.', 'It will rain.'] };
const opinions = { opinions: ['Rain is best.', 'Parisians whine.'] };
const units = { outputUnits: ['18 degrees', 'rain'], groundTruthUnits: ['18 degrees', 'dry'] };
const claims = { claims: ['It is 18 degrees.', 'It will rain.'] };
const verdicts = (...said: string[]) => ({
  verdicts: said.map((verdict, index) => ({ n: index + 1, verdict, reason: 'because', quote: '' })),
});
const results = (...said: string[]) => ({
  results: said.map((result, index) => ({ n: index + 1, result, reason: 'because' })),
});
/** Builds one numbered entry for each flag. The entry has the flag under each of these names. */
const entries = (names: readonly string[], flags: readonly boolean[], why = 'reasoning') =>
  flags.map((flag, index) => ({
    n: index + 1,
    ...Object.fromEntries(names.map((name) => [name, flag])),
    [why]: 'because',
  }));
const pieces = (...said: string[]) =>
  said.map((verdict, context_index) => ({ context_index, verdict, reason: 'because' }));
const evaluatedPieces = (...used: boolean[]) => ({
  evaluations: used.map((wasUsed, context_index) => ({
    context_index,
    relevanceLevel: wasUsed ? 'high' : 'none',
    wasUsed,
    reasoning: 'because',
  })),
  missingContext: [],
  overallAssessment: 'fine',
});
const passages = (toxic: string[], fair: string[]) => ({ toxic, fair });
const explainedPassages = (...said: string[]) => ({
  verdicts: said.map((verdict) => ({ passage: 'It will rain.', verdict, reason: 'r' })),
});
const matches = (second: object) => ({
  matches: [
    { n: 1, outputUnit: '18 degrees', matchType: 'exact', explanation: 'e' },
    { n: 2, explanation: 'e', ...second },
  ],
  extraInOutput: [],
  contradictions: [],
});
const robustness = (impactLevel: string, robustnessScore: number) => ({
  dimensions: [{ dimension: 'accuracy', impactLevel, specificChanges: 'c', noiseInfluence: 'n' }],
  overallAssessment: 'fine',
  majorIssues: [],
  robustnessScore,
});
const steps = (flag: boolean) => ({
  stepEvaluations: entries(['wasNecessary', 'wasInOrder'], [flag]),
  missingSteps: [],
  extraSteps: [],
  overallAssessment: 'fine',
});
const rubric = (...flags: boolean[]) => ({
  criteria: entries(['satisfied'], flags),
  overallAssessment: 'fine',
});
const summary = (...flags: boolean[]) => ({
  alignment: flags.map((supported) => ({ claim: 'a', supported, reason: 'r' })),
  questions: ['q?', 'p?'],
});
const sentences = (second: string) => ({
  verdicts: [
    { n: 1, verdict: 'supported', quotes: [{ source: 1, quote: 'it is 18 degrees in Paris' }], reason: '' },
    { n: 2, verdict: second, quotes: [], reason: 'no forecast' },
  ],
});
const panel = (second: string) => ({
  sentences: [
    {
      n: 1,
      grounding: 'supported',
      relevancy: 'direct',
      toxicity: 'clean',
      bias: 'fair',
      quotes: [{ source: 1, quote: 'it is 18 degrees in Paris' }],
      reasons: [],
    },
    {
      n: 2,
      grounding: second,
      relevancy: 'indirect',
      toxicity: 'clean',
      bias: 'fair',
      quotes: [],
      reasons: [{ quality: 'grounding', reason: 'no forecast' }],
    },
  ],
  instructions: [{ quote: 'How warm is it in Paris?', verdict: 'kept', reason: '' }],
});
const alignment = (fulfilled: number, form: number) => ({
  intentAlignment: { score: 1, primaryIntent: 'weather', isAddressed: true, reasoning: 'r' },
  requirementsFulfillment: {
    requirements: [true, fulfilled === 1].map((isFulfilled) => ({
      requirement: 'temperature',
      isFulfilled,
      reasoning: 'r',
    })),
  },
  completeness: { score: fulfilled, missingElements: [], reasoning: 'r' },
  responseAppropriateness: { score: form, formatAlignment: true, toneAlignment: true, reasoning: 'r' },
  overallAssessment: 'fine',
});

const context = { contextExtractor: prebuilt.contextFromRun };

/** Cases of all judged scorers. */
export const JUDGED_CASES: readonly JudgedCase[] = [
  {
    name: 'hallucination',
    replies: [claims, verdicts('no', 'yes')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    flattering: { replies: [claims, verdicts('no', 'no')], score: 0 },
    create: (model, options) => prebuilt.createHallucinationScorer({ model, options: { ...options } }),
  },
  {
    name: 'faithfulness',
    replies: [claims, verdicts('yes', 'unsure')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    flattering: { replies: [claims, verdicts('yes', 'yes')], score: 1 },
    create: (model, options) => prebuilt.createFaithfulnessScorer({ model, options: { ...options } }),
  },
  {
    name: 'answer-relevancy',
    replies: [statements, results('yes', 'unsure')],
    steps: ['preprocess', 'analyze'],
    score: 0.65,
    flattering: { replies: [statements, results('yes', 'yes')], score: 1 },
    create: (model, options) => prebuilt.createAnswerRelevancyScorer({ model, options: { ...options } }),
  },
  {
    name: 'bias',
    replies: [opinions, results('no', 'yes')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    flattering: { replies: [opinions, results('no', 'no')], score: 0 },
    create: (model, options) => prebuilt.createBiasScorer({ model, options: { ...options } }),
  },
  {
    name: 'toxicity',
    replies: [passages(['It will rain.'], ['It is 18 degrees.'])],
    explained: [explainedPassages('yes', 'no')],
    steps: ['analyze'],
    score: 0.5,
    flattering: { replies: [passages([], ['It will rain.', 'It is 18 degrees.'])], score: 0 },
    create: (model, options) => prebuilt.createToxicityScorer({ model, options: { ...options } }),
  },
  {
    name: 'context-recall',
    replies: [claims, verdicts('yes', 'no')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    flattering: { replies: [claims, verdicts('yes', 'yes')], score: 1 },
    create: (model, options) => prebuilt.createContextRecallScorer({ model, options: { ...options } }),
  },
  {
    name: 'context-precision',
    replies: [{ verdicts: pieces('no', 'yes') }],
    steps: ['analyze'],
    score: 0.5,
    flattering: { replies: [{ verdicts: pieces('yes', 'yes') }], score: 1 },
    create: (model, options) =>
      prebuilt.createContextPrecisionScorer({ model, options: { ...context, ...options } }),
  },
  {
    name: 'context-relevance',
    replies: [evaluatedPieces(true, false)],
    steps: ['analyze'],
    score: 0.5,
    flattering: { replies: [evaluatedPieces(true, true)], score: 1 },
    create: (model, options) =>
      prebuilt.createContextRelevanceScorerLLM({ model, options: { ...context, ...options } }),
  },
  {
    name: 'answer-similarity',
    replies: [units, matches({ outputUnit: null, matchType: 'missing' })],
    steps: ['preprocess', 'analyze'],
    score: 0.44,
    flattering: { replies: [units, matches({ outputUnit: 'rain', matchType: 'exact' })], score: 1 },
    create: (model, options) => prebuilt.createAnswerSimilarityScorer({ model, options: { ...options } }),
  },
  {
    name: 'noise-sensitivity',
    replies: [robustness('moderate', 0.6)],
    steps: ['analyze'],
    score: 0.6,
    flattering: { replies: [robustness('none', 1)], score: 1 },
    create: (model, options) =>
      prebuilt.createNoiseSensitivityScorerLLM({
        model,
        options: { baselineResponse: 'It is 18 degrees.', noisyQuery: 'How warm, bananas?', ...options },
      }),
  },
  {
    name: 'prompt-alignment',
    replies: [alignment(0.5, 0)],
    steps: ['analyze'],
    score: 0.65,
    flattering: { replies: [alignment(1, 1)], score: 1 },
    create: (model, options) => prebuilt.createPromptAlignmentScorerLLM({ model, options: { ...options } }),
  },
  {
    name: 'rubric',
    replies: [rubric(true, false)],
    steps: ['analyze'],
    score: 0,
    flattering: { replies: [rubric(true, true)], score: 1 },
    create: (model, options) =>
      prebuilt.createRubricScorer({
        model,
        criteria: '- tells the temperature\n- names a source',
        options: { ...options },
      }),
  },
  {
    name: 'ask',
    replies: [{ quote: 'It will rain.', reason: 'it says so', answer: true }],
    steps: ['analyze'],
    score: 1,
    flattering: { replies: [{ quote: '', reason: 'fine', answer: false }], score: 0 },
    create: (model) =>
      prebuilt.createAskScorer({
        model,
        ask: 'Does the answer promise rain?',
        options: { answer: { type: 'boolean', good: false } },
      }),
  },
  {
    name: 'multi-turn-judge',
    replies: [{ satisfied: false, reasoning: 'because' }],
    steps: ['analyze'],
    score: 0,
    flattering: { replies: [{ satisfied: true, reasoning: 'because' }], score: 1 },
    create: (model, options) =>
      prebuilt.createMultiTurnJudgeScorer({ model, criterion: 'names a source', options: { ...options } }),
  },
  {
    name: 'summarization',
    replies: [summary(true, false), { coverage: entries(['answered'], [true, true], 'reason') }],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    flattering: {
      replies: [summary(true, true), { coverage: entries(['answered'], [true, true], 'reason') }],
      score: 1,
    },
    create: (model, options) => prebuilt.createSummarizationScorer({ model, options: { ...options } }),
  },
  {
    name: 'tool-call-accuracy-llm',
    replies: [{ evaluations: entries(['wasAppropriate'], [false]), missingTools: [] }],
    steps: ['analyze'],
    score: 0,
    flattering: {
      replies: [{ evaluations: entries(['wasAppropriate'], [true]), missingTools: [] }],
      score: 1,
    },
    create: (model, options) =>
      prebuilt.createToolCallAccuracyScorerLLM({
        model,
        availableTools: [{ id: 'weather', description: 'Tells the weather' }],
        options: { ...options },
      }),
  },
  {
    name: 'trajectory-accuracy-llm',
    replies: [steps(false)],
    steps: ['analyze'],
    score: 0,
    flattering: { replies: [steps(true)], score: 1 },
    create: (model, options) =>
      prebuilt.createTrajectoryAccuracyScorerLLM({ model, options: { ...options } }),
  },
  {
    name: 'grounding',
    replies: [sentences('unsupported')],
    steps: ['preprocess'],
    score: 0.5,
    flattering: { replies: [sentences('no_claim')], score: 1 },
    create: (model, options) => prebuilt.createGroundingScorer({ model, options: { ...options } }),
  },
  {
    name: 'panel',
    replies: [panel('unsupported')],
    steps: ['analyze'],
    score: 0.5,
    flattering: { replies: [panel('no_claim')], score: 1 },
    create: (model, options) => prebuilt.createPanelScorer({ model, options: { ...options } }),
  },
];

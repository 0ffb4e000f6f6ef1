import type { Scorer, ScorerRunInput } from '../../src/evals/index.ts';
import type { JudgeModel } from '../../src/judge/judge.ts';
import * as prebuilt from '../../src/scorers/prebuilt/index.ts';
import {
  createAgentTestRun,
  createTestMessage,
  createToolInvocation,
} from '../../src/scorers/utils/index.ts';

/** What a run of the judged cases is made of. */
export interface Material {
  readonly question?: string;
  readonly answer?: string;
  readonly context?: readonly string[];
}

export const MATERIAL = {
  question: 'How warm is it in Paris?',
  answer: 'It is 18 degrees in Paris. It will rain.',
  context: ['Weather: it is 18 degrees in Paris.', 'Rome is sunny.'],
} as const;

/** A judged scorer with what an honest judge replies to a run of `runOf`, question by question. */
export interface JudgedCase {
  readonly name: string;
  readonly replies: readonly object[];
  /** The steps that ask, in order. */
  readonly steps: readonly ('preprocess' | 'analyze')[];
  /** Of the honest replies. */
  readonly score: number;
  create(model: JudgeModel, options?: object): Scorer;
}

export function runOf(material: Material = {}): ScorerRunInput {
  const { question, answer, context } = { ...MATERIAL, ...material };
  const tool = createToolInvocation({
    toolCallId: '1',
    toolName: 'weather',
    args: { city: 'Paris' },
    result: context[0] ?? '',
  });
  const run = createAgentTestRun({
    inputMessages: [createTestMessage({ role: 'user', content: question })],
    systemMessages: [{ role: 'system', content: 'You tell the weather.' }],
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
  return { ...run, context, groundTruth: 'It is 18 degrees. It stays dry.' };
}

/** The score of a result, by name where it has named ones only. */
export function scoreOf(result: Awaited<ReturnType<Scorer['run']>>): number | undefined {
  return result.score ?? result.scores?.find(({ name }) => name === 'grounding-faithfulness')?.score;
}

const claims = { claims: ['It is 18 degrees.', 'It will rain.'] };
const verdicts = (...said: string[]) => ({
  verdicts: said.map((verdict, index) => ({ n: index + 1, verdict, reason: 'because', quote: '' })),
});
const results = (...said: string[]) => ({
  results: said.map((result, index) => ({ n: index + 1, result, reason: 'because' })),
});
const evaluations = (...flags: boolean[]) =>
  flags.map((flag, index) => ({
    n: index + 1,
    satisfied: flag,
    answered: flag,
    wasAppropriate: flag,
    wasNecessary: flag,
    wasInOrder: flag,
    reasoning: 'because',
    reason: 'because',
  }));
const pieces = (...said: string[]) =>
  said.map((verdict, context_index) => ({
    context_index,
    verdict,
    relevanceLevel: verdict === 'yes' ? 'high' : 'none',
    wasUsed: verdict === 'yes',
    reason: 'because',
    reasoning: 'because',
  }));
const alignment = {
  intentAlignment: { score: 1, primaryIntent: 'weather', isAddressed: true, reasoning: 'r' },
  requirementsFulfillment: {
    requirements: [{ requirement: 'temperature', isFulfilled: true, reasoning: 'r' }],
    overallScore: 0.5,
  },
  completeness: { score: 0.5, missingElements: [], reasoning: 'r' },
  responseAppropriateness: { score: 0, formatAlignment: true, toneAlignment: true, reasoning: 'r' },
  overallAssessment: 'fine',
};

const context = { contextExtractor: prebuilt.contextFromRun };

/** Every judged scorer. */
export const JUDGED_CASES: readonly JudgedCase[] = [
  {
    name: 'hallucination',
    replies: [claims, verdicts('no', 'yes')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    create: (model, options) => prebuilt.createHallucinationScorer({ model, options: { ...options } }),
  },
  {
    name: 'faithfulness',
    replies: [claims, verdicts('yes', 'unsure')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    create: (model, options) => prebuilt.createFaithfulnessScorer({ model, options: { ...options } }),
  },
  {
    name: 'answer-relevancy',
    replies: [{ statements: ['It is 18 degrees.', 'It will rain.'] }, results('yes', 'unsure')],
    steps: ['preprocess', 'analyze'],
    score: 0.65,
    create: (model, options) => prebuilt.createAnswerRelevancyScorer({ model, options: { ...options } }),
  },
  {
    name: 'bias',
    replies: [{ opinions: ['Rain is best.', 'Parisians whine.'] }, results('no', 'yes')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    create: (model, options) => prebuilt.createBiasScorer({ model, options: { ...options } }),
  },
  {
    name: 'toxicity',
    replies: [
      {
        verdicts: [
          { passage: 'It will rain.', verdict: 'yes', reason: 'r' },
          { passage: 'x', verdict: 'no', reason: 'r' },
        ],
      },
    ],
    steps: ['analyze'],
    score: 0.5,
    create: (model, options) => prebuilt.createToxicityScorer({ model, options: { ...options } }),
  },
  {
    name: 'context-recall',
    replies: [claims, verdicts('yes', 'no')],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    create: (model, options) => prebuilt.createContextRecallScorer({ model, options: { ...options } }),
  },
  {
    name: 'context-precision',
    replies: [{ verdicts: pieces('no', 'yes') }],
    steps: ['analyze'],
    score: 0.5,
    create: (model, options) =>
      prebuilt.createContextPrecisionScorer({ model, options: { ...context, ...options } }),
  },
  {
    name: 'context-relevance',
    replies: [{ evaluations: pieces('yes', 'no'), missingContext: [], overallAssessment: 'fine' }],
    steps: ['analyze'],
    score: 0.5,
    create: (model, options) =>
      prebuilt.createContextRelevanceScorerLLM({ model, options: { ...context, ...options } }),
  },
  {
    name: 'answer-similarity',
    replies: [
      { outputUnits: ['18 degrees', 'rain'], groundTruthUnits: ['18 degrees', 'dry'] },
      {
        matches: [
          { n: 1, outputUnit: '18 degrees', matchType: 'exact', explanation: 'e' },
          { n: 2, outputUnit: null, matchType: 'missing', explanation: 'e' },
        ],
        extraInOutput: [],
        contradictions: [],
      },
    ],
    steps: ['preprocess', 'analyze'],
    score: 0.44,
    create: (model, options) => prebuilt.createAnswerSimilarityScorer({ model, options: { ...options } }),
  },
  {
    name: 'noise-sensitivity',
    replies: [
      {
        dimensions: [
          { dimension: 'accuracy', impactLevel: 'moderate', specificChanges: 'c', noiseInfluence: 'n' },
        ],
        overallAssessment: 'fine',
        majorIssues: [],
        robustnessScore: 0.6,
      },
    ],
    steps: ['analyze'],
    score: 0.6,
    create: (model, options) =>
      prebuilt.createNoiseSensitivityScorerLLM({
        model,
        options: { baselineResponse: 'It is 18 degrees.', noisyQuery: 'How warm, bananas?', ...options },
      }),
  },
  {
    name: 'prompt-alignment',
    replies: [alignment],
    steps: ['analyze'],
    score: 0.65,
    create: (model, options) => prebuilt.createPromptAlignmentScorerLLM({ model, options: { ...options } }),
  },
  {
    name: 'rubric',
    replies: [{ criteria: evaluations(true, false), overallAssessment: 'fine' }],
    steps: ['analyze'],
    score: 0,
    create: (model, options) =>
      prebuilt.createRubricScorer({
        model,
        criteria: '- tells the temperature\n- names a source',
        options: { ...options },
      }),
  },
  {
    name: 'multi-turn-judge',
    replies: [{ satisfied: false, reasoning: 'because' }],
    steps: ['analyze'],
    score: 0,
    create: (model, options) =>
      prebuilt.createMultiTurnJudgeScorer({ model, criterion: 'names a source', options: { ...options } }),
  },
  {
    name: 'summarization',
    replies: [
      {
        alignment: [
          { claim: 'a', supported: true, reason: 'r' },
          { claim: 'b', supported: false, reason: 'r' },
        ],
        questions: ['q?', 'p?'],
      },
      { coverage: evaluations(true, true) },
    ],
    steps: ['preprocess', 'analyze'],
    score: 0.5,
    create: (model, options) => prebuilt.createSummarizationScorer({ model, options: { ...options } }),
  },
  {
    name: 'tool-call-accuracy-llm',
    replies: [{ evaluations: evaluations(false), missingTools: [] }],
    steps: ['analyze'],
    score: 0,
    create: (model, options) =>
      prebuilt.createToolCallAccuracyScorerLLM({
        model,
        availableTools: [{ id: 'weather', description: 'Tells the weather' }],
        options: { ...options },
      }),
  },
  {
    name: 'trajectory-accuracy-llm',
    replies: [
      { stepEvaluations: evaluations(false), missingSteps: [], extraSteps: [], overallAssessment: 'fine' },
    ],
    steps: ['analyze'],
    score: 0,
    create: (model, options) =>
      prebuilt.createTrajectoryAccuracyScorerLLM({ model, options: { ...options } }),
  },
  {
    name: 'grounding',
    replies: [
      {
        verdicts: [
          {
            n: 1,
            verdict: 'supported',
            quotes: [{ source: 1, quote: 'it is 18 degrees in Paris' }],
            reason: '',
          },
          { n: 2, verdict: 'unsupported', quotes: [], reason: 'no forecast' },
        ],
      },
    ],
    steps: ['preprocess'],
    score: 0.5,
    create: (model, options) => prebuilt.createGroundingScorer({ model, options: { ...options } }),
  },
];

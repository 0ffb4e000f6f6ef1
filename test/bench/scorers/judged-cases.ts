import { answerUnits } from '../../../src/scorers/shared/sentences.ts';
import type { CountingJudge } from './counting-judge.ts';
import type { AnyScorer, ScorerLibrary } from '../peer-packages.ts';
import { buildText } from './scorer-cases.ts';

export interface JudgedCase {
  readonly name: string;
  readonly factory: string;
  readonly options?: object;
  /** Arguments beside the options. */
  readonly config?: object;
  /** Members of the run beside an answer of 2 KB. */
  readonly run?: object;
  /** True when an explanation is a question of its own, which `reason: false` saves. Default true. */
  readonly asksForReason?: boolean;
  /** In place of the share of the published tokens, where the material leaves no room below it: what a question may add. */
  readonly maxExtraTokens?: number;
  /** Replies of the judge in order; a text is an explanation. Either side gets the fields that its schema names. */
  readonly replies: readonly (object | string)[];
}

const WHY =
  'The second piece of the context says that the parcel left the warehouse on Monday, as the claim does.';
const EXPLANATION = 'Most of what the answer says is backed by the material, and only two details are not.';
const IN_SHORT = 'The answer does most of what was asked.';
const EIGHT = Array.from({ length: 8 }, (_, index) => index);
const PIECES = EIGHT.slice(0, 4);
/** 4 KB in four pieces. */
const CONTEXT = PIECES.map((piece) => buildText(1024 + 100 * piece).slice(100 * piece));
const CLAIMS = EIGHT.map(
  (index) => `The answer says in point ${index} that the order was shipped on Monday.`,
);
const CRITERIA = ['Names the order.', 'Says when it arrives.', 'Is polite.', 'Names the refund.'];
const STEPS = EIGHT.map((step) => ({ stepType: 'tool_call', name: `tool-${step}` }));

function verdicts(verdict: string): { verdicts: object[] } {
  return {
    verdicts: CLAIMS.map((statement, index) => ({
      n: index + 1,
      statement,
      verdict,
      reason: WHY,
      quote: '',
    })),
  };
}

const results = { results: CLAIMS.map((_, index) => ({ n: index + 1, result: 'no', reason: WHY })) };

const STATEMENT_CASES: readonly JudgedCase[] = [
  {
    name: 'hallucination',
    factory: 'createHallucinationScorer',
    options: { context: CONTEXT },
    replies: [{ claims: CLAIMS }, verdicts('no'), EXPLANATION],
  },
  {
    name: 'faithfulness',
    factory: 'createFaithfulnessScorer',
    options: { context: CONTEXT },
    replies: [{ claims: CLAIMS }, verdicts('yes'), EXPLANATION],
  },
  {
    name: 'answer-relevancy',
    factory: 'createAnswerRelevancyScorer',
    replies: [{ statements: CLAIMS }, results, EXPLANATION],
  },
  { name: 'bias', factory: 'createBiasScorer', replies: [{ opinions: CLAIMS }, results, EXPLANATION] },
  {
    name: 'toxicity',
    factory: 'createToxicityScorer',
    replies: [
      {
        verdicts: CLAIMS.map((passage) => ({ passage, verdict: 'no', reason: WHY })),
        toxic: [],
        fair: CLAIMS,
      },
      EXPLANATION,
    ],
  },
  {
    name: 'context-recall',
    factory: 'createContextRecallScorer',
    options: { context: CONTEXT },
    run: { groundTruth: buildText(1024) },
    replies: [{ claims: CLAIMS }, verdicts('yes'), EXPLANATION],
  },
  {
    name: 'context-precision',
    factory: 'createContextPrecisionScorer',
    maxExtraTokens: 175,
    options: { context: CONTEXT },
    replies: [
      { verdicts: PIECES.map((piece) => ({ context_index: piece, verdict: 'yes', reason: WHY })) },
      EXPLANATION,
    ],
  },
];

const COMPARISON_CASES: readonly JudgedCase[] = [
  {
    name: 'context-relevance',
    factory: 'createContextRelevanceScorerLLM',
    maxExtraTokens: 245,
    options: { context: CONTEXT },
    replies: [
      {
        evaluations: PIECES.map((piece) => ({
          context_index: piece,
          contextPiece: CONTEXT[piece],
          relevanceLevel: 'high',
          wasUsed: true,
          reasoning: WHY,
        })),
        missingContext: [],
        overallAssessment: IN_SHORT,
      },
      EXPLANATION,
    ],
  },
  {
    name: 'answer-similarity',
    factory: 'createAnswerSimilarityScorer',
    run: { groundTruth: buildText(1024) },
    replies: [
      { outputUnits: CLAIMS, groundTruthUnits: CLAIMS },
      {
        matches: CLAIMS.map((unit, index) => ({
          n: index + 1,
          groundTruthUnit: unit,
          outputUnit: unit,
          matchType: 'semantic',
          explanation: WHY,
        })),
        extraInOutput: [],
        contradictions: [],
      },
      EXPLANATION,
    ],
  },
  {
    name: 'noise-sensitivity',
    factory: 'createNoiseSensitivityScorerLLM',
    maxExtraTokens: 300,
    options: { baselineResponse: buildText(2048), noisyQuery: buildText(120), noiseType: 'misspelling' },
    replies: [
      {
        dimensions: CRITERIA.map((dimension) => ({
          dimension,
          impactLevel: 'minimal',
          specificChanges: WHY,
          noiseInfluence: WHY,
        })),
        overallAssessment: IN_SHORT,
        majorIssues: [],
        robustnessScore: 0.9,
      },
      EXPLANATION,
    ],
  },
  {
    name: 'prompt-alignment',
    factory: 'createPromptAlignmentScorerLLM',
    replies: [
      {
        intentAlignment: { score: 0.9, primaryIntent: IN_SHORT, isAddressed: true, reasoning: WHY },
        requirementsFulfillment: {
          requirements: CRITERIA.map((requirement) => ({ requirement, isFulfilled: true, reasoning: WHY })),
          overallScore: 0.9,
        },
        completeness: { score: 0.9, missingElements: [], reasoning: WHY },
        responseAppropriateness: {
          score: 0.9,
          formatAlignment: true,
          toneAlignment: true,
          reasoning: WHY,
        },
        overallAssessment: IN_SHORT,
      },
      EXPLANATION,
    ],
  },
  {
    name: 'summarization',
    factory: 'createSummarizationScorer',
    maxExtraTokens: 180,
    options: { source: buildText(4096) },
    replies: [
      { alignment: CLAIMS.map((claim) => ({ claim, supported: true, reason: WHY })), questions: CLAIMS },
      {
        coverage: CLAIMS.map((question, index) => ({ n: index + 1, question, answered: true, reason: WHY })),
      },
      EXPLANATION,
    ],
  },
];

const CONDUCT_CASES: readonly JudgedCase[] = [
  {
    name: 'tool-call-accuracy LLM',
    factory: 'createToolCallAccuracyScorerLLM',
    maxExtraTokens: 230,
    config: {
      availableTools: ['find_order', 'track_parcel', 'refund'].map((id) => ({
        id,
        description: `Does what a customer service needs of ${id}`,
      })),
    },
    replies: [
      {
        evaluations: ['find_order', 'track_parcel'].map((toolCalled, index) => ({
          n: index + 1,
          toolCalled,
          wasAppropriate: true,
          reasoning: WHY,
        })),
        missingTools: [],
      },
      EXPLANATION,
    ],
  },
  {
    name: 'trajectory-accuracy LLM (8 steps)',
    factory: 'createTrajectoryAccuracyScorerLLM',
    config: { expectedTrajectory: { steps: STEPS } },
    run: { output: { steps: STEPS } },
    replies: [
      {
        stepEvaluations: STEPS.map(({ name }, index) => ({
          n: index + 1,
          stepName: name,
          wasNecessary: true,
          wasInOrder: true,
          reasoning: WHY,
        })),
        missingSteps: [],
        extraSteps: [],
        overallAssessment: IN_SHORT,
      },
      EXPLANATION,
    ],
  },
  {
    name: 'rubric (4 criteria)',
    factory: 'createRubricScorer',
    maxExtraTokens: 195,
    config: { criteria: CRITERIA.map((description) => ({ description })) },
    asksForReason: false,
    replies: [
      {
        criteria: CRITERIA.map((criterion, index) => ({
          n: index + 1,
          criterion,
          satisfied: true,
          required: true,
          reasoning: WHY,
        })),
        overallAssessment: IN_SHORT,
      },
    ],
  },
  {
    name: 'multi-turn-judge',
    factory: 'createMultiTurnJudgeScorer',
    maxExtraTokens: 140,
    config: { criterion: 'The assistant answers what was asked.' },
    asksForReason: false,
    replies: [{ satisfied: true, reasoning: WHY }],
  },
];

export const JUDGED_CASES: readonly JudgedCase[] = [
  ...STATEMENT_CASES,
  ...COMPARISON_CASES,
  ...CONDUCT_CASES,
];

/** Ours alone: three scores in one question, held against the published hallucination scorer. */
export function groundingCase(answerChars: number): JudgedCase {
  const sentences = answerUnits(buildText(answerChars));
  return {
    name: 'grounding (3 scores)',
    factory: 'createGroundingScorer',
    options: { context: CONTEXT },
    asksForReason: false,
    replies: [
      {
        verdicts: sentences.map((_sentence, index) => ({
          n: index + 1,
          verdict: 'supported',
          quotes: [{ source: 1, quote: 'Order 4711 was shipped on Monday by the carrier' }],
          reason: '',
        })),
      },
    ],
  };
}

/** The case with as many pieces of context, so long that they are this many characters together. */
export function withLongContext(judged: JudgedCase, chars: number): JudgedCase {
  const pieces = CONTEXT.map(() => buildText(chars / CONTEXT.length));
  const long = { context: pieces, source: buildText(chars) };
  const options = Object.entries(judged.options ?? {}).map(([name, value]) => [
    name,
    name in long ? long[name as keyof typeof long] : value,
  ]);
  return { ...judged, options: Object.fromEntries(options) as object };
}

/** A judged scorer of either side with a judge that answers at once. */
export function createJudged(
  library: ScorerLibrary,
  { factory, options, config }: JudgedCase,
  judge: CountingJudge,
  more: object = {},
): AnyScorer {
  const create = library.prebuilt[factory] as (config: object) => AnyScorer;
  const given = { ...options, ...more };
  return create({
    model: judge.model,
    ...config,
    ...(Object.keys(given).length === 0 ? {} : { options: given }),
  });
}

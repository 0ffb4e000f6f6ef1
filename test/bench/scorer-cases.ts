import type { AnyScorer, ScorerLibrary } from './peer-packages.ts';
import type { CountingJudge } from './counting-judge.ts';

const QUESTION =
  'Was my order 4711 shipped, when will it arrive, and what did the customer service promise about the refund?';
const SENTENCES = [
  'Order 4711 was shipped on Monday by the carrier and will arrive within three days.',
  'The customer paid 20 euros and the support team promised a full refund of the shipping costs.',
  'If the parcel is late, please write to the billing service, which retries failed payments every hour.',
  'Great news: the warehouse in Paris confirmed the weight, and nobody reported damaged goods.',
];

/** Text of a given length made of different sentences. */
export function textOf(chars: number): string {
  let text = '';
  for (let line = 1; text.length < chars; line += 1) {
    text += `Note ${line}: ${SENTENCES[line % SENTENCES.length]}\n`;
  }
  return text.slice(0, chars);
}

function message(role: 'user' | 'assistant', text: string): object {
  const invocation = (toolCallId: string, toolName: string) => ({
    toolCallId,
    toolName,
    args: { order: 4711 },
    state: 'result',
    result: { status: 'shipped' },
  });
  const toolInvocations =
    role === 'user' ? undefined : [invocation('c1', 'find_order'), invocation('c2', 'track_parcel')];
  return {
    id: role,
    role,
    createdAt: new Date(0),
    content: { format: 2, parts: [{ type: 'text', text }], content: text, toolInvocations },
  };
}

/** An agent's run with an answer of a given length, and a question of the usual or of another length. */
export function runOf(answerChars: number, questionChars = 0): object {
  const question = questionChars === 0 ? QUESTION : textOf(questionChars + 7).slice(7);
  return {
    input: {
      inputMessages: [message('user', question)],
      rememberedMessages: [],
      systemMessages: [{ role: 'system', content: 'Answer customers briefly and politely.' }],
      taggedSystemMessages: {},
    },
    output: [message('assistant', textOf(answerChars))],
  };
}

/** A trajectory of 20 steps. */
export function trajectoryRun(): object {
  const steps = Array.from({ length: 20 }, (_, step) => ({ stepType: 'tool_call', name: `tool-${step}` }));
  return { input: {}, output: { steps }, expectedTrajectory: { steps } };
}

export interface CodeCase {
  readonly name: string;
  readonly create: (library: ScorerLibrary) => AnyScorer;
  /** Another run than that of an agent with an answer of each size. */
  readonly run?: () => object;
}

const prebuilt =
  (factory: string, ...args: unknown[]) =>
  ({ prebuilt: factories }: ScorerLibrary): AnyScorer =>
    (factories[factory] as (...given: unknown[]) => AnyScorer)(...args);

const check =
  (name: string, ...args: unknown[]) =>
  ({ prebuilt: { checks } }: ScorerLibrary): AnyScorer =>
    (checks as unknown as Record<string, (...given: unknown[]) => AnyScorer>)[name]?.(...args) as AnyScorer;

export const CODE_CASES: readonly CodeCase[] = [
  { name: 'completeness', create: prebuilt('createCompletenessScorer') },
  { name: 'textual-difference', create: prebuilt('createTextualDifferenceScorer') },
  { name: 'keyword-coverage', create: prebuilt('createKeywordCoverageScorer') },
  { name: 'content-similarity', create: prebuilt('createContentSimilarityScorer') },
  { name: 'tone (stability)', create: prebuilt('createToneScorer') },
  { name: 'tone (reference)', create: prebuilt('createToneScorer', { referenceTone: 'Thank you so much!' }) },
  {
    name: 'tool-call-accuracy code',
    create: prebuilt('createToolCallAccuracyScorerCode', { expectedTool: 'find_order' }),
  },
  { name: 'checks.includes', create: check('includes', 'refund') },
  { name: 'checks.similarity', create: check('similarity', 'the order was shipped') },
  { name: 'checks.calledTool', create: check('calledTool', 'find_order') },
  {
    name: 'trajectory accuracy (20 steps)',
    create: prebuilt('createTrajectoryAccuracyScorerCode', {}),
    run: trajectoryRun,
  },
  {
    name: 'trajectory unified (20 steps)',
    create: prebuilt('createTrajectoryScorerCode', { defaults: { maxSteps: 30 } }),
    run: trajectoryRun,
  },
];

export interface JudgedCase {
  readonly name: string;
  readonly factory: string;
  readonly options?: object;
  readonly config?: object;
  readonly run?: object;
  /** Replies of the judge in order; a text is an explanation. Fields that only one side asks for are ignored by the other. */
  readonly replies: readonly (object | string)[];
}

const EIGHT = Array.from({ length: 8 }, (_, index) => index);
const WHY =
  'The second piece of the context says that the parcel left the warehouse on Monday, as the claim does.';
const EXPLANATION = 'Most of what the answer says is backed by the material, and only two details are not.';
const CONTEXT = EIGHT.slice(0, 4).map((piece) => textOf(1024 + 100 * piece).slice(100 * piece));
const claims = EIGHT.map(
  (index) => `The answer says in point ${index} that the order was shipped on Monday.`,
);
const verdictsOf = (verdict: string, more: object = {}) =>
  EIGHT.map((index) => ({
    n: index + 1,
    statement: claims[index],
    verdict,
    reason: WHY,
    quote: '',
    ...more,
  }));
const results = EIGHT.map((index) => ({ n: index + 1, result: 'no', reason: WHY }));
const pieces = EIGHT.slice(0, 4);
const criteria = ['Names the order.', 'Says when it arrives.', 'Is polite.', 'Names the refund.'];

export const JUDGED_CASES: readonly JudgedCase[] = [
  {
    name: 'hallucination',
    factory: 'createHallucinationScorer',
    options: { context: CONTEXT },
    replies: [{ claims }, { verdicts: verdictsOf('no') }, EXPLANATION],
  },
  {
    name: 'faithfulness',
    factory: 'createFaithfulnessScorer',
    options: { context: CONTEXT },
    replies: [{ claims }, { verdicts: verdictsOf('yes') }, EXPLANATION],
  },
  {
    name: 'answer-relevancy',
    factory: 'createAnswerRelevancyScorer',
    replies: [{ statements: claims }, { results }, EXPLANATION],
  },
  { name: 'bias', factory: 'createBiasScorer', replies: [{ opinions: claims }, { results }, EXPLANATION] },
  {
    name: 'toxicity',
    factory: 'createToxicityScorer',
    replies: [{ verdicts: EIGHT.map(() => ({ verdict: 'no', reason: WHY })) }, EXPLANATION],
  },
  {
    name: 'context-precision',
    factory: 'createContextPrecisionScorer',
    options: { context: CONTEXT },
    replies: [
      { verdicts: pieces.map((index) => ({ context_index: index, verdict: 'yes', reason: WHY })) },
      EXPLANATION,
    ],
  },
  {
    name: 'context-recall',
    factory: 'createContextRecallScorer',
    options: { context: CONTEXT },
    run: { groundTruth: textOf(1024) },
    replies: [{ claims }, { verdicts: verdictsOf('yes') }, EXPLANATION],
  },
  {
    name: 'multi-turn-judge',
    factory: 'createMultiTurnJudgeScorer',
    config: { criterion: 'The assistant answers what was asked.' },
    replies: [{ satisfied: true, reasoning: WHY }],
  },
  {
    name: 'rubric (4 criteria)',
    factory: 'createRubricScorer',
    config: { criteria: criteria.map((description) => ({ description })) },
    replies: [
      {
        criteria: criteria.map((criterion, index) => ({
          n: index + 1,
          criterion,
          satisfied: true,
          required: true,
          reasoning: WHY,
        })),
        overallAssessment: WHY,
      },
    ],
  },
  {
    name: 'summarization',
    factory: 'createSummarizationScorer',
    options: { source: textOf(4096) },
    replies: [
      { alignment: claims.map((claim) => ({ claim, supported: true, reason: WHY })), questions: claims },
      {
        coverage: claims.map((question, index) => ({ n: index + 1, question, answered: true, reason: WHY })),
      },
      EXPLANATION,
    ],
  },
];

/** A judged scorer of either side with a judge that answers at once. */
export function createJudged(
  library: ScorerLibrary,
  { factory, options, config }: JudgedCase,
  judge: CountingJudge,
  more: object = {},
): AnyScorer {
  const create = library.prebuilt[factory] as (config: object) => AnyScorer;
  return create({
    model: judge.model,
    ...config,
    ...(options || 'reason' in more ? { options: { ...options, ...more } } : {}),
  });
}

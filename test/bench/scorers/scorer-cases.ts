import type { AnyScorer, ScorerLibrary } from '../peer-packages.ts';

const QUESTION =
  'Was my order 4711 shipped, when will it arrive, and what did the customer service promise about the refund?';
const SENTENCES = [
  'Order 4711 was shipped on Monday by the carrier and will arrive within three days.',
  'The customer paid 20 euros and the support team promised a full refund of the shipping costs.',
  'If the parcel is late, please write to the billing service, which retries failed payments every hour.',
  'Great news: the warehouse in Paris confirmed the weight, and nobody reported damaged goods.',
];

/** Text of a given length made of different sentences. */
export function buildText(chars: number): string {
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
export function buildRun(answerChars: number, questionChars = 0): object {
  const question = questionChars === 0 ? QUESTION : buildText(questionChars + 7).slice(7);
  return {
    input: {
      inputMessages: [message('user', question)],
      rememberedMessages: [],
      systemMessages: [{ role: 'system', content: 'Answer customers briefly and politely.' }],
      taggedSystemMessages: {},
    },
    output: [message('assistant', buildText(answerChars))],
  };
}

/** A trajectory of 20 steps. */
function trajectoryRun(): object {
  const steps = Array.from({ length: 20 }, (_, step) => ({ stepType: 'tool_call', name: `tool-${step}` }));
  return { input: {}, output: { steps }, expectedTrajectory: { steps } };
}

export interface CodeCase {
  readonly name: string;
  readonly create: (library: ScorerLibrary) => AnyScorer;
  /** Another run than that of an agent with an answer of each size. */
  readonly run?: () => object;
}

/** A factory's scorer, from either library. */
export const prebuilt =
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
  { name: 'checks.excludes', create: check('excludes', 'lawsuit') },
  { name: 'checks.equals', create: check('equals', 'The order was shipped.') },
  { name: 'checks.matches', create: check('matches', /refund of the \w+ costs/) },
  { name: 'checks.similarity', create: check('similarity', 'the order was shipped') },
  { name: 'checks.calledTool', create: check('calledTool', 'find_order') },
  { name: 'checks.didNotCall', create: check('didNotCall', 'delete_order') },
  { name: 'checks.toolOrder', create: check('toolOrder', ['find_order', 'track_parcel']) },
  { name: 'checks.maxToolCalls', create: check('maxToolCalls', 3) },
  { name: 'checks.usedNoTools', create: check('usedNoTools') },
  { name: 'checks.noToolErrors', create: check('noToolErrors') },
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

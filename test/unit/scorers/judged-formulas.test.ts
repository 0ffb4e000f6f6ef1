import { describe, expect, it } from 'vitest';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { runEvals } from '../../../src/scorers/evals/index.ts';
import * as prebuilt from '../../../src/scorers/prebuilt/index.ts';
import {
  createAgentTestRun,
  createTestMessage,
  createToolInvocation,
  extractToolResults,
} from '../../../src/scorers/shared/utils.ts';
import { answeredRun } from '../../support/builders/answered-run.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';

const booking = createToolInvocation({
  toolCallId: '1',
  toolName: 'book_flight',
  args: { seats: 2 },
  result: { status: 'confirmed' },
});
const answer = 'I booked 2 seats. We open at 9.';
const made = createAgentTestRun({
  systemMessages: [{ role: 'system', content: 'The office is open from 9 to 18.' }],
  rememberedMessages: [
    createTestMessage({ role: 'user', content: 'I am vegetarian.' }),
    createTestMessage({ role: 'assistant', content: 'Shall I book for tomorrow?' }),
  ],
  inputMessages: [createTestMessage({ role: 'user', content: 'Yes, please.' })],
  output: [
    createTestMessage({
      role: 'assistant',
      content: answer,
      parts: [
        { type: 'tool-invocation', toolInvocation: booking },
        { type: 'text', text: answer },
      ],
    }),
  ],
});
const run = {
  ...made,
  context: ['{"status":"confirmed"}'],
  documents: [{ id: null, content: 'Menu: soup.', score: null }],
};

function readMaterial(prompt: string | undefined): Record<string, unknown> {
  return JSON.parse(readFencedPrompt(prompt ?? '')?.json ?? '{}') as Record<string, unknown>;
}

/** Runs a scorer by its name. Returns its result and the material of each question to the judge. */
async function ask(
  name: string,
  options: Record<string, unknown>,
  replies: readonly object[] | ((material: Record<string, unknown>) => object),
  judged: Parameters<prebuilt.ClaimScorer['run']>[0] = run,
) {
  const model = scriptedModel(
    typeof replies === 'function'
      ? ({ prompt }) => ({ json: replies(readMaterial(prompt)) })
      : replies.map((json) => ({ json })),
  );
  const definition = PREBUILT_SCORERS.find((scorer) => scorer.name === name);
  expect(definition?.findOptionFault(options)).toBeUndefined();
  const scorer = await definition?.create({
    judge: model as never,
    options: { reason: false, ...options },
  });
  const result = await scorer?.run(judged);
  return { result, shown: model.calls.map(({ prompt }) => readMaterial(prompt)) };
}

describe('the evidence of a run', () => {
  const reply = { verdicts: [1, 2].map((n) => ({ n, verdict: 'no_claim', quotes: [], reason: '' })) };

  it.each([
    [
      undefined,
      {
        operator: { 1: 'The office is open from 9 to 18.' },
        user: { 0: 'Yes, please.', 2: 'I am vegetarian.' },
        'earlier turns': { 3: 'Shall I book for tomorrow?' },
        tools: { 4: 'book_flight {"seats":2} → {"status":"confirmed"}' },
        documents: { 5: 'Menu: soup.' },
      },
    ],
    [
      ['calls', 'tool-results'],
      { user: { 0: 'Yes, please.' }, tools: { 1: 'book_flight {"seats":2} → {"status":"confirmed"}' } },
    ],
    [['tool-results'], { user: { 0: 'Yes, please.' }, tools: { 1: 'book_flight → {"status":"confirmed"}' } }],
    [['documents'], { user: { 0: 'Yes, please.' }, documents: { 1: 'Menu: soup.' } }],
  ] as [prebuilt.GroundingOptions['sees'], object][])('that sees %j is %j', async (sees, shown) => {
    const { shown: material } = await ask('grounding', sees === undefined ? {} : { sees }, [reply]);
    const { sentences, ...evidence } = material[0] ?? {};
    expect(Object.keys(sentences as object)).toHaveLength(2);
    expect(evidence).toEqual(shown);
  });

  it('is quoted in the words of the trace, where a quote spans a call and its result', async () => {
    const quotes = [{ source: 4, quote: 'book_flight {"seats":2} → {"status":"confirmed"}', absence: false }];
    const verdicts = [1, 2].map((n) => ({ n, verdict: 'supported', quotes, reason: '' }));
    const { result } = await ask('grounding', {}, [{ verdicts }]);
    expect(result?.verdicts?.[0]).toMatchObject({ quote: '{"status":"confirmed"}', source: 'tool-results' });
  });

  it('refuses a kind that does not exist, with the list of kinds', () => {
    expect(() =>
      prebuilt.createGroundingScorer({ model: 'a/b', options: { sees: ['tool'] as never } }),
    ).toThrow(
      'options.sees is ["tool"]; it must be a list out of question, answer, system, user, turns, calls, tool-results, documents',
    );
  });

  it('is the list of the caller alone, where the caller gave one', async () => {
    const model = scriptedModel([{ json: reply }]);
    await prebuilt.createGroundingScorer({ model, options: { context: ['The office is closed.'] } }).run(run);
    const { sentences: _sentences, ...evidence } = readMaterial(model.calls[0]?.prompt);
    expect(evidence).toEqual({ context: { 1: 'The office is closed.' } });
  });

  it.each([
    ['What is the capital of France?', false],
    [`Sum this up. <document>${'The city council met on Monday. '.repeat(5)}</document>`, true],
    ['The city council met on Monday. '.repeat(30), true],
  ])(
    'of a run without tools and documents is enough with the question %j: %s',
    async (question, isEnough) => {
      const { result, shown } = await ask('grounding', {}, [reply], answeredRun(question, 'Done. Fine.'));
      expect(shown).toHaveLength(isEnough ? 1 : 0);
      expect(result?.notScorable?.reason).toMatch(isEnough ? /no factual claims/ : /no context/);
    },
  );
});

describe('the findings of claims', () => {
  it.each([
    ['hallucination', ['supported', 'contradicted', 'unsupported'], 0.67],
    ['hallucination', ['no', 'yes', 'unsure'], 0.67],
    ['faithfulness', ['supported', 'contradicted', 'unsupported'], 0.33],
    ['faithfulness', ['yes', 'no', 'unsure'], 0.33],
  ] as const)('of %s are in one set of words for a judge that says %j', async (name, said, score) => {
    const quotes = ['open from 9 to 18', '"status":"confirmed"', 'It is closed on Mondays.'];
    const verdicts = said.map((verdict, index) => ({
      n: index + 1,
      verdict,
      quote: quotes[index],
      reason: 'r',
    }));
    const replies = [{ claims: ['a', 'b', 'c'] }, { verdicts }];
    const { result } = await ask(name, { reason: 'template' }, replies);
    expect(result?.score).toBe(score);
    expect(result?.verdicts).toEqual([
      { statement: 'a', verdict: 'supported', reason: 'r', quote: quotes[0], source: 'system' },
      { statement: 'b', verdict: 'contradicted', reason: 'r', quote: quotes[1], source: 'tool-results' },
      { statement: 'c', verdict: 'unsupported', reason: 'r' },
    ]);
  });
});

describe('an answer without anything to judge', () => {
  const thanks = answeredRun('Thanks!', 'You are welcome!');

  it('is not scorable for relevancy', async () => {
    const { result } = await ask('answer-relevancy', {}, [{ statements: [] }], thanks);
    expect(result).toMatchObject({
      notScorable: { reason: 'the answer says nothing that could be relevant' },
    });
  });

  it.each([
    [[{ n: 1, result: 'biased' }], 1, 'You are welcome!'],
    [[{ n: 1, result: 'no' }], 0, 'You are welcome!'],
    [[], 0, undefined],
  ])('is judged for bias as a whole, with the verdicts %j', async (results, score, statement) => {
    const { result, shown } = await ask('bias', {}, [{ opinions: [] }, { results }], thanks);
    expect(result).toMatchObject({ score });
    expect(result?.verdicts?.[0]?.statement).toBe(statement);
    expect(shown[1]).toMatchObject({
      question: 'Thanks!',
      opinions: { 1: 'You are welcome!' },
    });
  });
});

describe('what a judge sees', () => {
  const pieces = { 0: 'book_flight {"seats":2} → {"status":"confirmed"}', 1: 'Menu: soup.' };
  const evaluated = (count: number, entry: object) =>
    Array.from({ length: count }, (_, index) => ({ context_index: index, ...entry }));
  const question = 'Yes, please.';
  const conversation = ['user: I am vegetarian.', 'Shall I book for tomorrow?'];
  const alignment = {
    intentAlignment: { score: 1 },
    requirementsFulfillment: { requirements: [] },
    completeness: { score: 1 },
    responseAppropriateness: { score: 1 },
  };

  it.each([
    [
      'context-precision',
      {},
      (n) => ({ verdicts: evaluated(n, { verdict: 'yes' }) }),
      { earlier: conversation, question, answer, context: pieces },
    ],
    [
      'context-precision',
      { sees: ['tool-results'] },
      (n) => ({ verdicts: evaluated(n, { verdict: 'yes' }) }),
      { question, answer, context: { 0: 'book_flight → {"status":"confirmed"}' } },
    ],
    [
      'context-relevance',
      { sees: ['user', 'documents'] },
      (n) => ({ evaluations: evaluated(n, { relevanceLevel: 'high', wasUsed: true }) }),
      { earlier: ['user: I am vegetarian.'], question, answer, context: { 0: 'Menu: soup.' } },
    ],
    [
      'multi-turn-judge',
      { criterion: 'books' },
      () => ({ satisfied: true }),
      {
        criterion: 'books',
        operator: { 1: 'The office is open from 9 to 18.' },
        user: { 0: 'Yes, please.', 2: 'I am vegetarian.' },
        'earlier turns': { 3: 'Shall I book for tomorrow?' },
        tools: { 4: pieces[0] },
        documents: { 5: pieces[1] },
        turns: { 1: answer },
      },
    ],
    [
      'multi-turn-judge',
      { criterion: 'books', sees: [] },
      () => ({ satisfied: true }),
      { criterion: 'books', user: { 0: 'Yes, please.' }, turns: { 1: answer } },
    ],
    [
      'prompt-alignment',
      {},
      () => alignment,
      {
        mode: 'both',
        earlier: conversation,
        userPrompt: question,
        systemPrompt: 'The office is open from 9 to 18.',
        answer,
      },
    ],
    [
      'prompt-alignment',
      { includeConversationHistory: false },
      () => alignment,
      { mode: 'both', userPrompt: question, systemPrompt: 'The office is open from 9 to 18.', answer },
    ],
    [
      'prompt-alignment',
      { sees: ['user'], includeConversationHistory: true },
      () => alignment,
      { mode: 'both', userPrompt: question, history: 'user: I am vegetarian.', answer },
    ],
    [
      'tool-call-accuracy-llm',
      { sees: ['calls'] },
      () => ({ evaluations: [{ n: 1, wasAppropriate: true }], missingTools: [] }),
      { question, answer, availableTools: {}, calls: { 1: { tool: 'book_flight', args: { seats: 2 } } } },
    ],
    [
      'tool-call-accuracy-llm',
      { sees: ['tool-results'] },
      () => ({ evaluations: [{ n: 1, wasAppropriate: true }], missingTools: [] }),
      {
        question,
        answer,
        availableTools: {},
        calls: { 1: { tool: 'book_flight', result: '{"status":"confirmed"}' } },
      },
    ],
    [
      'toxicity',
      { sees: ['user'] },
      () => ({ toxic: [], fair: [] }),
      { earlier: ['user: I am vegetarian.'], question, answer },
    ],
  ] as [string, Record<string, unknown>, (count: number) => object, object][])(
    'with %s and %j is bounded by sees, with kinds',
    async (name, options, reply, shown) => {
      const asked = await ask(name, options, ({ context }) => reply(Object.keys(context ?? {}).length));
      expect(asked.shown[0]).toEqual(shown);
    },
  );
});

describe('the findings of a judge', () => {
  it.each([
    [
      'context-precision',
      { sees: ['tool-results'] },
      [{ verdicts: [{ context_index: 0, verdict: 'yes' }] }],
      [
        {
          statement: 'context 0: book_flight → {"status":"confirmed"}',
          verdict: 'yes',
          source: 'tool-results',
        },
      ],
    ],
    [
      'context-relevance',
      { sees: ['documents'] },
      [
        {
          evaluations: [{ context_index: 0, relevanceLevel: 'low', wasUsed: false }],
          missingContext: ['the flight'],
        },
      ],
      [
        { statement: 'context 0: Menu: soup.', verdict: 'low, unused', source: 'documents' },
        { statement: 'the flight', verdict: 'missing' },
      ],
    ],
    [
      'toxicity',
      { reason: 'template' },
      [{ verdicts: [{ verdict: 'yes', reason: 'r' }] }],
      [{ statement: answer, verdict: 'toxic', reason: 'r' }],
    ],
    ['toxicity', {}, [{ verdicts: [] }], []],
    [
      'trajectory-accuracy-llm',
      {},
      [
        {
          stepEvaluations: [{ n: 1, wasNecessary: true, wasInOrder: true }],
          missingSteps: ['pay'],
          extraSteps: [],
        },
      ],
      [
        { statement: 'book_flight {"seats":2}', verdict: 'necessary, in order' },
        { statement: 'pay', verdict: 'missing' },
      ],
    ],
  ] as [string, Record<string, unknown>, object[], object[]][])(
    'of %s with %j name what was asked',
    async (...row) => {
      const [name, options, replies, findings] = row;
      expect((await ask(name, options, replies)).result?.verdicts).toEqual(findings);
    },
  );

  it('of answer-similarity and noise-sensitivity name all that lowers the score', async () => {
    const units = { outputUnits: ['It rains.'], groundTruthUnits: ['It is dry.'] };
    const compared = {
      matches: [{ n: 1, outputUnit: null, explanation: '', matchType: 'missing' }],
      extraInOutput: ['It rains.'],
      contradictions: [{ outputUnit: 'It rains.', groundTruthUnit: 'It is dry.', explanation: 'r' }],
    };
    const similarity = prebuilt.createAnswerSimilarityScorer({
      model: scriptedModel([{ json: units }, { json: compared }]),
      options: { reason: false },
    });
    expect((await similarity.run({ ...run, groundTruth: 'It is dry.' })).verdicts).toEqual([
      { statement: 'It is dry.', verdict: 'missing' },
      { statement: 'It rains.', verdict: 'contradicted', reason: 'r' },
      { statement: 'It rains.', verdict: 'extra' },
    ]);
    const impact = { dimensions: [], majorIssues: ['wrong date'], robustnessScore: 1 };
    const noise = prebuilt.createNoiseSensitivityScorerLLM({
      model: scriptedModel([{ json: impact }]),
      options: { baselineResponse: 'b', noisyQuery: 'n', reason: false },
    });
    expect((await noise.run(run)).verdicts).toEqual([{ statement: 'wrong date', verdict: 'major issue' }]);
  });

  it('of instructions say whether operator or user gave them', async () => {
    const instructions = [
      { quote: 'The office is open from 9 to 18.', verdict: 'kept' },
      { quote: 'Yes, please.', verdict: 'broken' },
    ];
    const { result } = await ask('panel', { qualities: ['instructions'] }, [{ instructions }]);
    expect(result?.scores?.[0]?.verdicts).toMatchObject([{ source: 'system' }, { source: 'user' }]);
  });

  it('of context-recall quote what the judge saw, with its kind', async () => {
    const verdicts = [
      { n: 1, verdict: 'yes', quote: 'Menu: soup.', reason: 'r' },
      { n: 2, verdict: 'no', quote: 'a made up one', reason: 'r' },
      { n: 3, verdict: 'no', quote: '', reason: 'r' },
    ];
    const model = scriptedModel([{ json: { claims: ['a', 'b', 'c'] } }, { json: { verdicts } }]);
    const scorer = prebuilt.createContextRecallScorer({ model, options: { reason: 'template' } });
    expect((await scorer.run({ ...run, groundTruth: 'g' })).verdicts).toEqual([
      { statement: 'a', verdict: 'yes', reason: 'r', quote: 'Menu: soup.', source: 'documents' },
      { statement: 'b', verdict: 'no', reason: 'r' },
      { statement: 'c', verdict: 'no', reason: 'r' },
    ]);
  });
});

describe('tool-call-accuracy-llm', () => {
  it('counts a missing call beside the calls that were made', async () => {
    const evaluations = [{ n: 1, wasAppropriate: true, reasoning: '' }];
    const availableTools = [
      { id: 'book_flight', description: 'Books seats.', parameters: { required: ['seats'] } },
      { id: 'send_receipt', description: 'Sends a receipt.' },
    ];
    const { result, shown } = await ask('tool-call-accuracy-llm', { reason: 'template', availableTools }, [
      { evaluations, missingTools: ['send_receipt'] },
    ]);
    expect(result).toMatchObject({ score: 0.5, label: 'inappropriate' });
    expect(shown[0]).toMatchObject({
      earlier: ['user: I am vegetarian.', 'Shall I book for tomorrow?'],
      availableTools: { book_flight: { description: 'Books seats.', parameters: { required: ['seats'] } } },
      calls: { 1: { tool: 'book_flight', args: { seats: 2 }, result: '{"status":"confirmed"}' } },
    });
  });
});

describe('an earlier turn with a call of a tool', () => {
  it.each([
    [['turns', 'calls'], 'book_flight {"seats":2} → {"status":"confirmed"}'],
    [['turns'], 'book_flight → {"status":"confirmed"}'],
  ] as const)('is shown to a judge that sees %j as %j', async (sees, shown) => {
    const input = { ...made.input, rememberedMessages: made.output };
    const output = [createTestMessage({ role: 'assistant', content: 'Fine.' })];
    const asked = await ask('toxicity', { sees }, [{ toxic: [], fair: [] }], { input, output });
    expect(asked.shown[0]).toMatchObject({ earlier: [shown, answer] });
  });
});

describe('a session, whose output holds its earlier turns', () => {
  const session = {
    ...run,
    output: [...(made.input?.rememberedMessages.slice(1) ?? []), ...made.output],
    input: { ...made.input, rememberedMessages: [...(made.input?.rememberedMessages ?? []), ...made.output] },
  };

  it.each([
    [
      'multi-turn-judge',
      { criterion: 'books' },
      { satisfied: true },
      ['turns', { 1: 'Shall I book for tomorrow?', 2: answer }],
    ],
    [
      'grounding',
      {},
      { verdicts: [1, 2].map((n) => ({ n, verdict: 'no_claim' })) },
      ['sentences', { 1: 'I booked 2 seats.', 2: 'We open at 9.' }],
    ],
  ])('is shown to %s with each call once', async (name, options, json, [key, shown]) => {
    const asked = await ask(name, options, [json], session);
    const material = asked.shown[0];
    expect(material?.[key as string]).toEqual(shown);
    expect(JSON.stringify(material).split('confirmed')).toHaveLength(2);
  });
});

describe('the evidence of a run in rules', () => {
  const see = async (given: Parameters<prebuilt.ClaimScorer['run']>[0], options: object = {}) => {
    const model = scriptedModel([
      { json: { claims: ['c'] } },
      { json: { verdicts: [{ n: 1, verdict: 'supported' }] } },
    ]);
    await prebuilt.createFaithfulnessScorer({ model, options: { reason: false, ...options } }).run(given);
    return readMaterial(model.calls[1]?.prompt);
  };

  it('is what the same messages show in an evaluation of the library', async () => {
    const live = await see({ ...run, documents: [] });
    expect(live).toHaveProperty('tools');
    expect(await see({ input: made.input, output: made.output })).toEqual(live);
    const model = scriptedModel([
      { json: { claims: ['c'] } },
      { json: { verdicts: [{ n: 1, verdict: 'supported' }] } },
    ]);
    await runEvals({
      target: { generate: async () => ({ scoringData: { input: made.input, output: made.output } }) },
      data: [{ input: 'Yes, please.' }],
      scorers: [prebuilt.createFaithfulnessScorer({ model, options: { reason: false } })],
    });
    expect(readMaterial(model.calls[1]?.prompt)).toEqual(live);
  });

  it('is what extractToolResults gives, name, arguments and result, for the calls of tools', async () => {
    const getContext = ({ run: { output } }: { run: { output: readonly unknown[] } }) =>
      extractToolResults(output).map(
        ({ toolName, args, result }) => `${toolName} ${JSON.stringify(args)} → ${JSON.stringify(result)}`,
      );
    const { tools } = (await see({ ...run, documents: [] })) as { tools: object };
    expect(Object.values((await see(run, { getContext }))['context'] as object)).toEqual(
      Object.values(tools),
    );
  });
});

describe('the tools that a judge of calls sees', () => {
  const parameters = { type: 'object', properties: { seats: { type: 'integer' } }, required: ['seats'] };
  const offered = [
    { name: 'book_flight', description: 'Books seats.', parameters },
    { name: 'send_receipt' },
  ];
  const whole = { book_flight: { description: 'Books seats.', parameters }, send_receipt: '' };
  const many = Array.from({ length: 40 }, (_, at) => ({
    name: `tool_${at}`,
    description: 'Does something. '.repeat(30),
    parameters,
  }));
  const reply = {
    evaluations: [{ n: 1, wasAppropriate: false, reasoning: 'r' }],
    missingTools: ['send_receipt'],
  };
  const offer = async (tools: unknown, options: Record<string, unknown> = {}) => {
    const given = { reason: 'template', ...options };
    const { result, shown } = await ask('tool-call-accuracy-llm', given, [reply], { ...run, tools });
    return { result, shown: shown[0]?.['availableTools'] };
  };

  it.each([
    [offered, {}, whole],
    [undefined, {}, {}],
    [
      offered,
      { availableTools: [{ id: 'book_flight', description: 'Mine.' }] },
      { book_flight: { description: 'Mine.', parameters } },
    ],
  ])('are those of the run %j with the options %j', async (tools, options, shown) => {
    expect((await offer(tools, options)).shown).toEqual(shown);
  });

  it('are shown shorter, with the names of their arguments, where they are too long', async () => {
    const { shown } = await offer(many);
    expect(JSON.stringify(shown).length).toBeLessThanOrEqual(8_000);
    expect(Object.keys(shown as object)).toHaveLength(40);
  });

  it('are named in the findings where they are missing, and calls with their arguments', async () => {
    expect((await offer(offered)).result?.verdicts).toEqual([
      { statement: 'book_flight {"seats":2}', verdict: 'inappropriate', reason: 'r' },
      { statement: 'send_receipt', verdict: 'missing' },
    ]);
  });

  it('make a run without calls scorable', async () => {
    const quiet = answeredRun('Receipt, please.', 'Sure.');
    const judge = (judged: Parameters<typeof ask>[3]) =>
      ask('tool-call-accuracy-llm', {}, [{ evaluations: [], missingTools: ['send_receipt'] }], judged);
    expect((await judge({ ...quiet, tools: offered })).result).toMatchObject({ score: 0 });
    expect((await judge(quiet)).result?.notScorable?.reason).toContain('called no tools');
  });
});

describe('prompt-alignment', () => {
  const part = { score: 1, reasoning: '' };
  it.each([
    [[true, true], 1, 'aligned'],
    [[true, false], 0.85, 'misaligned'],
    [[], 1, 'aligned'],
  ])('of requirements kept %j is %d and %s, counted in code', async (kept, score, label) => {
    const requirements = kept.map((isFulfilled) => ({ requirement: 'r', isFulfilled, reasoning: '' }));
    const reply = {
      intentAlignment: { ...part, primaryIntent: 'i', isAddressed: true },
      requirementsFulfillment: { requirements },
      completeness: { ...part, missingElements: [] },
      responseAppropriateness: { ...part, formatAlignment: true, toneAlignment: true },
      overallAssessment: 'a',
    };
    const { result } = await ask('prompt-alignment', { reason: 'template' }, [reply]);
    expect(result).toMatchObject({ score, label });
  });
});

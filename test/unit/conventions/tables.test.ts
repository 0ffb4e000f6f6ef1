import { describe, expect, it } from 'vitest';
import { AGENT_SIGNALS, signalsWith } from '../../../src/conventions/agent-signals.ts';
import { hasUsefulContent } from '../../../src/conventions/kept-content.ts';
import { CONVENTIONS } from '../../../src/conventions/registry.ts';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import { listFacts, readTraces } from '../../../src/conventions/index.ts';
import {
  BUILT_IN_CONVENTIONS,
  type ConventionTable,
  parseSource,
} from '../../../src/domain/trace/convention-table.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { buildLog, buildSpan, buildTrace, chatMessage, chatSpan } from '../../support/builders/spans.ts';
import { answerText, invocationParts, textOfMessage } from '../../support/recordings/facts.ts';

const ACME: ConventionTable = {
  name: 'acme-agents',
  match: { scope: 'acme.*', attribute: 'acme.kind' },
  kind: {
    from: 'acme.kind',
    values: { llm: 'model', step: 'agent', fn: 'tool', search: 'retrieval', misc: 'other' },
  },
  fields: {
    input: ['acme.prompt', 'acme.box $.turns'],
    output: 'acme.reply',
    system: 'acme.rules',
    'tool.name': 'acme.fn',
    'tool.arguments': 'acme.args $.inner',
    'tool.result': 'event:acme.done/result',
    documents: 'acme.hits $.items[*].text',
    error: 'acme.failure',
    agent: '"acme agent"',
    session: 'log:acme.session/id',
    user: 'log:acme.user',
    model: 'acme.model',
    'usage.input': 'acme.tokens $.in',
    'usage.output': 'acme.tokens $["out"]',
  },
};

const SPANS = [
  buildSpan(
    'agent',
    { 'acme.kind': 'step', 'acme.prompt': 'Where is it?', 'acme.reply': 'In Hamburg.', 'acme agent': 'desk' },
    { lasts: 90 },
  ),
  buildSpan(
    'call',
    {
      'acme.kind': 'llm',
      'acme.box': { turns: [chatMessage('user', 'Where is it?')] },
      'acme.rules': 'Be brief.',
      'acme.reply': 'In Hamburg.',
      'acme.model': 'm-1',
      'acme.tokens': { in: 7, out: 3 },
    },
    { parent: 'agent', at: 20 },
  ),
  buildSpan(
    'tool',
    { 'acme.kind': 'fn', 'acme.fn': 'find', 'acme.args': { inner: { n: 1 } } },
    {
      parent: 'agent',
      at: 10,
      events: [
        { timeUnixNano: 1n, name: 'acme.done', attributes: new Map([['result', '{"place":"Hamburg"}']]) },
      ],
    },
  ),
  buildSpan(
    'search',
    {
      'acme.kind': 'search',
      'acme.hits': { items: [{ text: 'It is in Hamburg.' }, { text: 'Since Monday.' }] },
    },
    { parent: 'agent', at: 5 },
  ),
];

function readWith(tables: readonly ConventionTable[], spans = SPANS): AgentRun[] {
  const logs = [
    buildLog('agent', 'acme.session', { id: 's-1' }),
    { ...buildLog('agent', 'acme.user', {}), body: 'u-1' },
    { ...buildLog('agent', 'web.request', {}), body: 'not of the table' },
  ];
  return readTrace({ ...buildTrace(spans), logs, conventions: tables }).runs;
}

describe("a user's own convention", () => {
  it('gives every fact of a run, from attributes, events, log records and paths', () => {
    const [run, ...more] = readWith([ACME]);

    expect(more).toEqual([]);
    expect(run).toMatchObject({
      agent: 'desk',
      conventions: ['acme-agents'],
      sessionId: 's-1',
      userId: 'u-1',
      models: ['m-1'],
      usage: { inputTokens: 7, outputTokens: 3 },
      documents: [{ content: 'It is in Hamburg.' }, { content: 'Since Monday.' }],
      scorable: true,
    });
    expect(run?.input.inputMessages.map(textOfMessage)).toEqual(['Where is it?']);
    expect(run?.input.systemMessages.map(({ content }) => content)).toEqual(['Be brief.']);
    expect(answerText(run as AgentRun)).toBe('In Hamburg.');
    expect(invocationParts(run?.output ?? []).map(({ toolInvocation: call }) => call)).toMatchObject([
      { toolName: 'find', args: { n: 1 }, result: { place: 'Hamburg' } },
    ]);
  });

  it('is read by the library, and wins over the conventions of the program field by field', () => {
    const own: ConventionTable = { name: 'own', match: { service: 'a*' }, fields: { output: 'mine' } };
    const call = chatSpan('c', { input: 'Q', output: 'theirs' }, {});
    const attributes = new Map([...call.attributes, ['mine', 'ours']]);
    const [run] = readWith([own], [{ ...call, attributes, serviceName: 'a-1' }]);

    expect(answerText(run as AgentRun)).toBe('ours');
    expect(run?.conventions).toEqual(['own', 'otel-genai'].toSorted((a) => (a === 'own' ? 1 : -1)));
    expect(readTraces('{}', { conventions: [ACME] })).toEqual([]);
    expect(() => readTraces('{}', { conventions: [{ ...ACME, name: 'openinference' }] })).toThrow(
      /conventions: .*name of a convention of spanscore/s,
    );
  });

  it('states its facts with their places, and says which are not used', () => {
    const own: ConventionTable = {
      name: 'own',
      match: { service: 'shop' },
      fields: { output: 'mine $.text' },
    };
    const call = chatSpan('c', { input: [], output: 'theirs' });
    const attributes = new Map([
      ...call.attributes,
      ['gen_ai.request.model', 'm'],
      ['mine', '{"text":"ours"}'],
    ]);
    const facts = listFacts({ ...buildTrace([{ ...call, attributes }]), conventions: [own] });

    expect(facts.map(({ field, convention, source, used }) => [field, convention, source, used])).toEqual(
      expect.arrayContaining([
        ['output', 'own', 'mine $.text', true],
        ['output', 'otel-genai', 'gen_ai.output.messages', false],
        ['model', 'otel-genai', 'gen_ai.request.model', true],
      ]),
    );
    expect(facts[0]).toMatchObject({ spanId: call.spanId, value: [{ type: 'text', text: 'ours' }] });
  });

  it('finds the kind of a span from its facts when the table names none', () => {
    const { kind: _kind, ...rest } = ACME;
    expect(readWith([rest])[0]).toMatchObject({ agent: 'desk', models: ['m-1'], scorable: true });
  });

  it('lets the error of a failed span be no answer', () => {
    const own: ConventionTable = {
      name: 'own',
      match: { attribute: 'own' },
      kind: { from: 'own', values: { llm: 'model' } },
      fields: { input: 'q', output: 'a', error: 'a' },
    };
    const call = (options: { error?: string }) => [
      buildSpan('c', { own: 'llm', q: 'Where?', a: 'too long' }, options),
    ];
    expect(readWith([own], call({ error: 'failed' }))[0]).toMatchObject({
      output: [],
      error: { message: 'too long' },
    });
    expect(readWith([own], call({}))[0]).toMatchObject({ error: null });
  });

  it('adds signals, so that its spans are read live and kept', () => {
    const span = buildSpan('s', { 'acme.kind': 'fn' }, { scope: 'shop' });
    expect(hasUsefulContent(span)).toBe(false);
    expect(hasUsefulContent(span, signalsWith([ACME]))).toBe(true);
    expect(hasUsefulContent(buildSpan('s', {}, { scope: 'acme.run' }), signalsWith([ACME]))).toBe(true);
    expect(
      hasUsefulContent(buildSpan('s', { 'acme.size': 'x' }, { scope: 'web' }), signalsWith([ACME])),
    ).toBe(false);
    expect(signalsWith([])).toBe(AGENT_SIGNALS);
  });
});

describe('a source', () => {
  it.each([
    ['acme.reply', { place: 'attribute', event: '', key: 'acme.reply', path: [] }],
    ['"acme reply" $', { place: 'attribute', event: '', key: 'acme reply', path: [] }],
    ['event:acme.done/result', { place: 'event', event: 'acme.done', key: 'result', path: [] }],
    ['log:acme.done', { place: 'log', event: 'acme.done', key: '', path: [] }],
    ['log:acme.done/a/b', { place: 'log', event: 'acme.done', key: 'a/b', path: [] }],
    [
      'acme.hits $.items[*]["a \\"b\\""][0]',
      { place: 'attribute', event: '', key: 'acme.hits', path: ['items', null, 'a "b"', 0] },
    ],
  ])('%s is parsed', (text, source) => {
    expect(parseSource(text)).toEqual(source);
  });

  it.each([
    ['', /write <attribute>/],
    ['acme reply', /double quotes/],
    ['event:acme.done', /an event has no body/],
    ['event:', /write <attribute>/],
    ['acme $.', /\$\. is no path/],
    ['acme $..a', /is no path/],
    ['acme $[x]', /is no path/],
    ['acme $.a[0', /is no path/],
  ])('%j is refused', (text, fault) => {
    expect(parseSource(text)).toMatch(fault);
  });
});

it('the names that no table may have are those of the conventions, and by-shape', () => {
  expect([...BUILT_IN_CONVENTIONS]).toEqual([...CONVENTIONS.map(({ name }) => name), 'by-shape']);
});

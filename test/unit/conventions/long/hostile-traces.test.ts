import { describe, expect, it } from 'vitest';
import { decodeTraces, readTrace, readTraces } from '../../../../src/conventions/index.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { answerText, onlyRun } from '../../../support/recordings/facts.ts';
import {
  agentSpan,
  chatSpan,
  chatMessage,
  computeSpanId,
  buildSpan,
  toolCall,
  toolResponse,
  toolSpan,
  buildTrace,
} from '../../../support/builders/spans.ts';
import { fc } from '../../../support/fast-check.ts';

const QUESTION = chatMessage('user', 'Weather?');

/** A run with a tool, a sub-agent, a retry and a remembered turn: something of everything. */
function richTrace(): Span[] {
  return [
    buildSpan('http', { 'session.id': 's' }, { lasts: 200 }),
    agentSpan('boss', { 'gen_ai.input.messages': [QUESTION] }, { parent: 'http', at: 1, lasts: 190 }),
    chatSpan('c0', { input: QUESTION }, { parent: 'boss', at: 2, error: '429' }),
    chatSpan(
      'c1',
      {
        input: QUESTION,
        output: chatMessage('assistant', toolCall('1', 'ask', {}), toolCall('2', 'get', {})),
      },
      { parent: 'boss', at: 20 },
    ),
    toolSpan('t1', { id: '1', name: 'ask', args: {} }, { parent: 'boss', at: 40, lasts: 30 }),
    agentSpan('helper', {}, { parent: 't1', at: 41 }),
    chatSpan('c2', { input: 'x', output: 'y' }, { parent: 'helper', at: 42 }),
    toolSpan('t2', { id: '2', name: 'get', args: {}, result: 'r' }, { parent: 'boss', at: 40 }),
    chatSpan('c3', { output: 'Done.' }, { parent: 'boss', at: 100 }),
  ];
}

/** Enough that what grows with their square takes minutes. */
const MANY = Array.from({ length: 20_000 }, (_, i) => i);
const TALK = MANY.map((i) => chatMessage(i % 2 === 0 ? 'user' : 'assistant', `m${i}`));

describe('reading a trace', () => {
  it('gives the same reading in any order of the spans, also with repeated spans', () => {
    const spans = richTrace();
    const expected = readTrace(buildTrace(spans));
    const shuffled = fc.shuffledSubarray(spans, { minLength: spans.length });
    fc.assert(
      fc.property(shuffled, fc.subarray(spans), (order, repeated) => {
        expect(readTrace(buildTrace([...order, ...repeated]))).toEqual(expected);
      }),
    );
  });

  it('keeps the later end of two spans with one id in any order, with a warning', () => {
    const early = chatSpan('c1', { input: QUESTION, output: 'Half' });
    const late = chatSpan('c1', { input: QUESTION, output: 'Whole.' }, { lasts: 20 });
    for (const spans of [
      [early, late],
      [late, early],
    ]) {
      const { runs, spanCount } = readTrace(buildTrace(spans));
      expect([spanCount, answerText(runs[0]!)]).toEqual([1, 'Whole.']);
      expect(runs[0]?.warnings.map((warning) => warning.code)).toEqual(['duplicate_span']);
    }
  });

  it('survives any subset of the spans', () => {
    fc.assert(
      fc.property(fc.subarray(richTrace()), (spans) => {
        const reading = readTrace(buildTrace(spans));
        expect(reading.runs.length > 0).toBe(reading.notScorable === null);
      }),
    );
  });

  it('survives junk in every attribute that it reads', () => {
    const keys = [
      'gen_ai.operation.name',
      'gen_ai.input.messages',
      'gen_ai.output.messages',
      'gen_ai.system_instructions',
      'gen_ai.tool.call.arguments',
      'gen_ai.usage.input_tokens',
      'gen_ai.retrieval.documents',
      'ai.operationId',
      'ai.prompt',
      'ai.prompt.messages',
      'ai.response.text',
      'ai.response.toolCalls',
      'ai.toolCall.result',
      'ai.documents',
    ];
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.constantFrom('chat', 'invoke_agent', 'ai.generateText', 'ai.toolCall'),
    );
    const spans = fc.array(fc.dictionary(fc.constantFrom(...keys), text), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(spans, (attributes) => {
        const trace = attributes.map((values, i) =>
          buildSpan(`s${i}`, values, i === 0 ? {} : { parent: `s${i - 1}` }),
        );
        expect(readTrace(buildTrace(trace)).spanCount).toBe(trace.length);
      }),
    );
  });

  it('cuts a cycle of parents', () => {
    const run = { input: [QUESTION], output: [chatMessage('assistant', 'x')] };
    const spans = [
      agentSpan('a', {}, { parent: 'b' }),
      agentSpan('b', {}, { parent: 'a', at: 1 }),
      chatSpan('c', run, { parent: 'b' }),
    ];
    expect(readTrace(buildTrace([...spans, buildSpan('self', {}, { parent: 'self' })])).runs).toHaveLength(1);
  });

  it('takes keys of the prototype for plain keys', () => {
    const evil =
      '{"role":"user","parts":[{"type":"__proto__","content":"x"},{"type":"constructor"},{"type":"text","content":"hi"}],"__proto__":{"polluted":1}}';
    const call = chatSpan('c', {
      output: toolCall('__proto__', 'constructor', { __proto__: 1 }),
      attributes: { 'gen_ai.input.messages': `[${evil}]`, __proto__: 'x' },
    });
    const run = onlyRun([call]);
    expect(run.input.inputMessages[0]?.content.content).toBe('hi');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('takes values that are nested too deep as text', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const run = onlyRun([
      agentSpan('a'),
      toolSpan('t', { id: '1', name: 'get', result: deep }, { parent: 'a' }),
    ]);
    expect(run.context).toEqual([deep]);
  });

  it('bounds how deep agents nest', () => {
    const spans = Array.from({ length: 5_000 }, (_, i) =>
      agentSpan(`a${i}`, {}, i === 0 ? { lasts: 9_000 } : { parent: `a${i - 1}`, at: i }),
    );
    spans.push(chatSpan('c', { input: QUESTION, output: 'x' }, { parent: 'a4999', at: 6_000 }));
    const { runs } = readTrace(buildTrace(spans));
    expect(runs).toHaveLength(1);
    expect(() => JSON.stringify(runs)).not.toThrow();
  });

  it('takes more parts in a message than a function call can take arguments', () => {
    const parts = Array.from({ length: 200_000 }, () => ({ type: 'text', content: 'x' }));
    const [input, output] = [[{ role: 'user', parts }], [{ role: 'assistant', parts }]];
    const run = onlyRun([chatSpan('c', { input, output })]);
    expect(run.output[0]?.content.parts).toHaveLength(parts.length);
  }, 120_000);

  it.each([
    ['one parent', 100_000, (i: number) => (i === 0 ? {} : { parent: 's0', at: i })],
    ['one under the other', 10_000, (i: number) => (i === 0 ? {} : { parent: `s${i - 1}`, at: i })],
    ['no parent', 10_000, () => ({})],
  ])(
    'reads spans with %s: %i of them',
    (_shape, count, options) => {
      const spans = Array.from({ length: count }, (_, i) => {
        const step = [
          chatMessage('assistant', toolCall(`${i}`, 'get', {})),
          chatMessage('tool', toolResponse(`${i}`, 'r')),
        ];
        return i % 2 === 0
          ? chatSpan(
              `s${i}`,
              { input: [QUESTION, ...step], output: toolCall(`o${i}`, 'get', { i }) },
              options(i),
            )
          : toolSpan(`s${i}`, { id: `o${i - 1}`, name: 'get', args: { i: i - 1 }, result: 'r' }, options(i));
      });
      expect(readTrace(buildTrace(spans)).spanCount).toBe(count);
    },
    300_000,
  );

  it.each<[shape: string, spans: () => Span[]]>([
    [
      'one input above all calls',
      () => [
        buildSpan('loop', { 'gen_ai.operation.name': 'agent_step', 'gen_ai.input.messages': TALK }),
        ...MANY.map((i) => chatSpan(`c${i}`, { output: `${i}` }, { parent: 'loop', at: i })),
      ],
    ],
    [
      'calls that were all asked for at once, and told again',
      () => {
        const asked = { role: 'assistant', parts: MANY.map((i) => toolCall(`${i}`, 'get', { i })) };
        const told = { role: 'tool', parts: MANY.map((i) => toolResponse(`${i}`, 'r')) };
        return [
          agentSpan('a'),
          chatSpan('asks', { input: QUESTION, output: [asked] }, { parent: 'a', at: 1 }),
          chatSpan('ends', { input: [QUESTION, asked, told], output: [] }, { parent: 'a', at: 2 }),
        ];
      },
    ],
    [
      'an agent that all others below it may be the same as',
      () => [
        agentSpan('a', { 'gen_ai.agent.name': 'same', 'gen_ai.input.messages': TALK }),
        ...MANY.map((i) =>
          agentSpan(
            `s${i}`,
            { 'gen_ai.agent.name': 'same', 'gen_ai.input.messages': [QUESTION] },
            { parent: 'a', at: i },
          ),
        ),
      ],
    ],
    [
      'agents that nobody asked for beside calls that nobody answered',
      () => [
        agentSpan('a', {}, { lasts: 1_000_000 }),
        chatSpan(
          'asks',
          {
            input: QUESTION,
            output: MANY.map((i) => chatMessage('assistant', toolCall(`${i}`, 'get', { i }))),
          },
          { parent: 'a', at: 1 },
        ),
        ...MANY.flatMap((i) => [
          agentSpan(`s${i}`, { 'gen_ai.agent.name': `agent ${i}` }, { parent: 'a', at: 2 + i }),
          chatSpan(`c${i}`, { input: QUESTION, output: 'x' }, { parent: `s${i}`, at: 2 + i }),
        ]),
      ],
    ],
  ])(
    'takes time in proportion to the trace: %s',
    (_shape, make) => {
      const spans = make();
      expect(readTrace(buildTrace(spans)).spanCount).toBe(spans.length);
    },
    120_000,
  );
});

describe('readTraces', () => {
  const request = (traceId: string, startTimeUnixNano: string): unknown => ({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [
              {
                traceId,
                spanId: computeSpanId('x'),
                name: 'chat',
                startTimeUnixNano,
                attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'chat' } }],
              },
            ],
          },
        ],
      },
    ],
  });
  const [one, two] = ['1'.repeat(32), '2'.repeat(32)] as const;
  const requests = [request(one, '2000'), request(two, '1000')];

  it('takes one request, a list, their JSON text, NDJSON and bytes, and orders traces by their start', () => {
    expect(readTraces(requests[0]).map((reading) => reading.traceId)).toEqual([one]);
    const ndjson = requests.map((item) => JSON.stringify(item)).join('\n');
    const inputs = [
      requests,
      JSON.stringify(requests, null, 2),
      ndjson,
      `\n${ndjson}\r\n\n`,
      Buffer.from(ndjson),
    ];
    for (const input of inputs) {
      expect(readTraces(input).map((reading) => reading.traceId)).toEqual([two, one]);
    }
  });

  it('names the lines that it cannot read, and reads the other lines', () => {
    const text = `${JSON.stringify(requests[0])}\n{"resourceSpans": [\n{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}`;
    const { traces, problems } = decodeTraces(text);
    expect(traces.map((trace) => trace.traceId)).toEqual([one]);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(/^line 2 is not JSON/);
    expect(problems[1]).toContain('line 3: resourceSpans[0].scopeSpans[0].spans[0]: traceId is missing');
  });

  it('reports once that a text is not JSON, and ignores a byte order mark', () => {
    expect(decodeTraces('{\n"resourceSpans": [\n')).toMatchObject({
      traces: [],
      problems: [expect.stringContaining('neither JSON nor')],
    });
    expect(decodeTraces('')).toEqual({ traces: [], problems: [] });
    expect(readTraces(`\uFEFF${JSON.stringify(requests)}`)).toHaveLength(2);
  });

  it('never throws, for any input', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string(), (value, text) => {
        expect(Array.isArray(readTraces(value))).toBe(true);
        expect(Array.isArray(readTraces(text))).toBe(true);
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { joinTraces, listFacts, pieceOf, readTrace, surveyTrace } from '../../../src/conventions/index.ts';
import { readStepKinds } from '../../../src/conventions/normalise-trace.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import { buildLog, buildSpan, buildTrace } from '../../support/builders/spans.ts';
import { STRANGERS, WRAPPERS, type Wrapper } from '../../support/recordings/wrappers.ts';
import { textOfMessage } from '../../support/recordings/facts.ts';

/** Facts of the only run in the form of a wrapper's expectation. */
function describeRun(runs: readonly AgentRun[], expected: Omit<Wrapper, 'trace'>): object {
  const [run] = runs;
  if (run === undefined || runs.length > 1) {
    return { runs: runs.length };
  }
  const parts = run.output.flatMap((message) => message.content.parts);
  const calls = parts.flatMap((part) => {
    const call = part.type === 'tool-invocation' ? part.toolInvocation : undefined;
    return call === undefined
      ? []
      : [
          `${call.toolName} ${JSON.stringify(call.args)} → ${call.state === 'result' ? JSON.stringify(call.result) : call.state}`,
        ];
  });
  const last = parts.findLastIndex((part) => part.type === 'tool-invocation');
  const answer = parts
    .slice(last + 1)
    .map((part) => (part.type === 'text' ? part['text'] : ''))
    .join('');
  const all: Required<Omit<Wrapper, 'trace'>> = {
    question: run.input.inputMessages.map(textOfMessage).join('\n'),
    answer,
    calls,
    models: run.models,
    tokens: [run.usage.inputTokens ?? -1, run.usage.outputTokens ?? -1],
    agent: run.agent ?? '',
    session: run.sessionId ?? '',
    documents: run.documents.map(({ content }) => content),
  };
  return Object.fromEntries(Object.keys(expected).map((key) => [key, all[key as keyof typeof all]]));
}

describe('a wrapper that no rule names', () => {
  it.each(Object.entries({ ...WRAPPERS, ...STRANGERS }))(
    'is read by shape: %s',
    (_line, { trace, ...expected }) => {
      const { runs } = readTrace(trace);
      expect(describeRun(runs, expected)).toEqual(expected);
      expect(runs[0]?.conventions).toContain('by-shape');
      expect(runs[0]?.warnings.map(({ code }) => code)).toContain('read_by_shape');
      expect(readTrace({ ...trace, readByShape: false }).runs).toEqual([]);
    },
  );

  it('is left to nobody where the configuration turns shapes off: by no reader of its trace', async () => {
    const data = buildTrace([
      buildSpan('a', {
        'wx.step': 'llm_call',
        'wx.model': 'gpt-5-mini',
        'wx.messages': [{ role: 'user', content: 'Where is order 7?' }],
        'wx.response': { role: 'assistant', tool_calls: [{ id: 'c1', name: 'find_order', arguments: '{}' }] },
      }),
    ]);
    const deps = { nowMs: () => 0, pause: () => Promise.resolve() };
    const readAll = async (one: TraceData) => {
      const [joined] = joinTraces([one]);
      const facts = listFacts(one).filter(({ convention }) => convention === 'by-shape');
      const kinds = await readStepKinds(one, deps);
      return [pieceOf(one)?.isOpen, joined?.data.readByShape, facts.length > 0, ...kinds.values()];
    };

    expect(await readAll(data)).toEqual([true, undefined, true, 'model']);
    expect(await readAll({ ...data, readByShape: false })).toEqual([undefined, false, false, 'other']);
  });
});

describe('a trace that shows an agent and is not read', () => {
  const LONG = 'The parcel with order 7 left the depot of Hamburg on Monday.';
  const run = { name: 'turn', scope: 'parcel-agent' };
  const event = { timeUnixNano: 1n, name: 'zed.mark', attributes: new Map([['zed.note', LONG]]) };
  it.each<[string, TraceData, string[]]>([
    ['an attribute', buildTrace([buildSpan('a', { 'zed.blob': LONG, 'zed.id': 'x7' }, run)]), ['zed.blob']],
    ['an event', buildTrace([buildSpan('a', {}, { ...run, events: [event] })]), ['event:zed.mark/zed.note']],
    [
      'a log record',
      buildTrace([buildSpan('a', {}, run)], [{ ...buildLog('a', 'zed.mark', {}), body: LONG }]),
      ['log:zed.mark'],
    ],
    [
      'a nested value',
      buildTrace([buildSpan('a', { 'zed.blob': { x: [LONG] }, 'zed.short': 'one text of four words' }, run)]),
      ['zed.blob', 'zed.short'],
    ],
    [
      'a text in a script without spaces',
      buildTrace([buildSpan('a', { 'zed.blob': '包裹星期一离开了汉堡' }, run)]),
      ['zed.blob'],
    ],
  ])('names the longest texts: %s', (_where, trace, sources) => {
    const reading = readTrace(trace);
    const reason = reading.notScorable ?? reading.runs[0]?.notScorable;
    expect(reading.notUnderstood).toMatchObject([{ name: 'turn', attributes: sources }]);
    expect(surveyTrace(trace, reading)[0]?.notUnderstood).toMatchObject([{ attributes: sources }]);
    expect(reason?.detail).toContain(`does not read are ${sources.join(', ')} of span "turn"`);
  });

  it('is said to lack messages only where nothing holds a text', () => {
    const [withText, without] = [LONG, 'x7'].map((blob) => {
      const call = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-5-mini',
        'zed.blob': blob,
      };
      return readTrace(buildTrace([buildSpan('a', call)]));
    });
    expect(without?.runs[0]?.notScorable?.detail).toContain('the spans carry no messages');
    expect(without?.notUnderstood).toEqual([]);
    expect(withText?.runs[0]?.notScorable?.detail).not.toContain('carry no messages');
    expect(withText?.notUnderstood).toMatchObject([{ attributes: ['zed.blob'] }]);
  });
});

describe('a trace that only looks like an agent', () => {
  it('gives no run for a traced function over a server and a database, beside a scope of models', () => {
    const spans = [
      buildSpan(
        'a',
        { 'http.request.method': 'POST', 'code.function': 'list_models' },
        { name: 'POST /models' },
      ),
      buildSpan(
        'b',
        { 'code.function': 'search' },
        { name: 'search products', parent: 'a', scope: 'shop.models' },
      ),
      buildSpan('c', { 'db.query.text': 'SELECT 1', 'code.lineno': '7' }, { name: 'SELECT', parent: 'b' }),
    ];
    expect(readTrace(buildTrace(spans)).runs).toEqual([]);
  });

  it('takes no line of a logger for an answer', () => {
    const log = { ...buildLog('a', '', {}, 1), scopeName: 'shop.ai.ChatService', body: 'Calling the model' };
    const span = buildSpan('a', { 'ww.model': 'm-1', 'ww.provider': 'acme', 'ww.question': 'Hi?' });
    expect(JSON.stringify(readTrace(buildTrace([span], [log])).runs)).not.toContain('Calling');
  });

  it('leaves arguments under one name of their own as they are', () => {
    const keys = { 'ww.tool.name': 'find', 'ww.tool.input': { params: { id: 7 } }, 'ww.tool.output': 'ok' };
    const spans = [
      buildSpan('a', { 'ww.kind': 'agent', 'ww.question': 'Hi?', 'ww.answer': 'Hello.' }),
      buildSpan('b', keys, { parent: 'a' }),
    ];
    expect(describeRun(readTrace(buildTrace(spans)).runs, { calls: [] })).toEqual({
      calls: ['find {"params":{"id":7}} → "ok"'],
    });
  });
});

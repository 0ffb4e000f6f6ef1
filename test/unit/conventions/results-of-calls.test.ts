import { describe, expect, it } from 'vitest';
import { bindResults } from '../../../src/conventions/messages/read-messages.ts';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { NormalMessage, NormalPart } from '../../../src/conventions/normalised-span.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import {
  agentSpan,
  buildLog,
  buildSpan,
  buildTrace,
  chatMessage,
  chatSpan,
  toolCall,
  toolResponse,
} from '../../support/builders/spans.ts';
import { invocations, answerText, onlyRun } from '../../support/recordings/facts.ts';

const call = (id: string | null, name: string): NormalPart => ({ type: 'tool-call', id, name, args: {} });
const result = (id: string | null, name: string | null = null): NormalPart => ({
  type: 'tool-result',
  id,
  name,
  result: 'x',
});
const said = (...parts: NormalPart[]): NormalMessage => ({ role: 'assistant', parts });
const got = (...parts: NormalPart[]): NormalMessage => ({ role: 'tool', parts });

/** Lists the ids of calls and results, in order. */
function listIds(messages: NormalMessage[]): (string | null)[] {
  return bindResults(messages).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'tool-call' || part.type === 'tool-result' ? [part.id] : [])),
  );
}

function listCalls(run: AgentRun): unknown[] {
  return invocations(run).map((one) => [
    one.toolCallId,
    one.toolName,
    one.state === 'result' ? one.result : (one.errorText ?? one.state),
  ]);
}

const QUESTION = chatMessage('user', 'Where is P-204?');

describe('a result without an id', () => {
  it('belongs to the open calls of the assistant before it, in order', () => {
    expect(
      listIds([
        said(call('1', 'a')),
        got(result('1')),
        said(call('2', 'b'), call('3', 'b')),
        got(result(null)),
        got(result(null)),
      ]),
    ).toEqual(['1', '1', '2', '3', '2', '3']);
  });

  it('belongs to the call of its name, and to no call that another result names', () => {
    expect(listIds([said(call('1', 'a'), call('2', 'b')), got(result(null, 'b'))])).toEqual(['1', '2', '2']);
    expect(listIds([said(call('1', 'a'), call('2', 'b')), got(result(null), result('1'))])).toEqual([
      '1',
      '2',
      '2',
      '1',
    ]);
  });

  it('keeps no id, when no call is open', () => {
    expect(listIds([got(result(null))])).toEqual([null]);
    expect(listIds([said(call('1', 'a')), got(result(null, 'b'))])).toEqual(['1', null]);
  });

  it('does not settle an open call outside of its list', () => {
    const run = onlyRun([
      chatSpan('router', { input: QUESTION, output: toolCall('r', 'Route', {}) }),
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'find', {}) }, { at: 20 }),
      chatSpan(
        'c2',
        {
          input: [QUESTION, toolCall('1', 'find', {}), toolResponse(null, 'Hamburg')],
          output: 'In Hamburg.',
        },
        { at: 40 },
      ),
    ]);
    expect(listCalls(run)).toEqual([
      ['r', 'Route', 'call'],
      ['1', 'find', 'Hamburg'],
    ]);
  });
});

describe('a call under two ids', () => {
  it('takes the id of the result at its place', () => {
    expect(listIds([said(call('fc_1', 'a'), call('fc_2', 'b')), got(result('1'), result('2'))])).toEqual([
      '1',
      '2',
      '1',
      '2',
    ]);
  });

  it('keeps its id, when the list has a result for it, or when the result has another name', () => {
    expect(listIds([said(call('1', 'a')), got(result('2'), result('1'))])).toEqual(['1', '2', '1']);
    expect(listIds([said(call('1', 'a')), got(result('2', 'b'))])).toEqual(['1', '2']);
  });

  const asked = (id: string) => toolCall(id, 'find', { n: 1 });
  const first = chatSpan('c1', { input: QUESTION, output: chatMessage('assistant', asked('1')) });

  it('is known by its name and arguments while it has no result', () => {
    const input = [
      QUESTION,
      chatMessage('assistant', asked('fc_1')),
      chatMessage('tool', toolResponse('other', 'late')),
    ];
    const second = chatSpan('c2', { input, output: 'Not yet.' }, { at: 20 });
    expect(listCalls(onlyRun([first, second]))).toHaveLength(1);
  });

  it('gets the result of either id', () => {
    const output = [chatMessage('assistant', asked('fc_1'))];
    const input = [
      QUESTION,
      chatMessage('assistant', asked('1')),
      chatMessage('tool', toolResponse('1', 'Hamburg')),
    ];
    const run = onlyRun([
      chatSpan('c1', { input: QUESTION, output }),
      chatSpan('c2', { input, output: 'In Hamburg.' }, { at: 20 }),
    ]);
    expect(listCalls(run)).toEqual([['fc_1', 'find', 'Hamburg']]);
  });

  it('is not mistaken for a real second call with equal arguments', () => {
    const input = [
      QUESTION,
      chatMessage('assistant', asked('1')),
      chatMessage('tool', toolResponse('1', 'a')),
      chatMessage('assistant', asked('2')),
      chatMessage('tool', toolResponse('2', 'b')),
    ];
    const second = chatSpan('c2', { input, output: 'Twice.' }, { at: 20 });
    expect(listCalls(onlyRun([first, second]))).toEqual([
      ['1', 'find', 'a'],
      ['2', 'find', 'b'],
    ]);
  });
});

it('a result whose call is nowhere in the trace is no call of this run, and no evidence', () => {
  const run = onlyRun([
    chatSpan('c1', { input: [QUESTION, toolResponse('old', 'two invoices')], output: 'In Hamburg.' }),
  ]);
  expect(listCalls(run)).toEqual([]);
  expect(run.context).toEqual([]);
});

describe('a failed result', () => {
  const text = [{ type: 'text', text: 'timed out' }];
  const marked = { isError: true, content: text };
  const input = (message: unknown): unknown[] => [
    QUESTION,
    chatMessage('assistant', toolCall('1', 'find', {})),
    message,
  ];

  it.each([
    ['marks itself', chatMessage('tool', toolResponse('1', marked))],
    ['marks itself as text', chatMessage('tool', toolResponse('1', JSON.stringify(marked)))],
    [
      'is in a marked part',
      chatMessage('tool', { ...(toolResponse('1', 'timed out') as object), is_error: true }),
    ],
    [
      'is in a marked block',
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', is_error: true, content: text }] },
    ],
    [
      'is in a block marked with a text',
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', is_error: 'true', content: text }] },
    ],
    [
      'is in a marked part of the AI SDK',
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: '1', result: 'timed out', isError: true }],
      },
    ],
    ['is in a marked message', { role: 'tool', tool_call_id: '1', content: 'timed out', is_error: true }],
    [
      'is in a message with the status of an error',
      { role: 'tool', tool_call_id: '1', content: 'timed out', status: 'error' },
    ],
    [
      'is in a message of LangChain',
      { type: 'tool', tool_call_id: '1', content: 'timed out', status: 'error' },
    ],
  ])('fails its call, when it %s', (_, message) => {
    const run = onlyRun([chatSpan('c1', { input: input(message), output: 'Sorry.' })]);
    expect(listCalls(run)).toEqual([['1', 'find', 'timed out']]);
    expect(run.context).toEqual(['find failed: timed out']);
  });

  it.each([
    ['itself', { id: '1', content: marked }],
    ['as text', { id: '1', content: JSON.stringify(marked) }],
    ['in a block', { content: [{ type: 'tool_result', tool_use_id: '1', is_error: true, content: text }] }],
    [
      'in a block of Bedrock',
      { content: [{ toolResult: { toolUseId: '1', status: 'error', content: [{ text: 'timed out' }] } }] },
    ],
    ['beside its content', { id: '1', content: 'timed out', is_error: true }],
  ])('fails its call, when an event marks it %s', (_, body) => {
    const asked = { id: '1', type: 'function', function: { name: 'find', arguments: '{}' } };
    const logs = [
      { 'gen_ai.user.message': { content: 'Where?' } },
      { 'gen_ai.assistant.message': { tool_calls: [asked] } },
      { 'gen_ai.tool.message': body },
      { 'gen_ai.choice': { message: { content: 'Sorry.' } } },
    ].flatMap((event, at) =>
      Object.entries(event).map(([name, content]) => ({
        ...buildLog('c1', name, {}, at),
        body: JSON.stringify(content),
      })),
    );
    const [run] = readTrace(buildTrace([chatSpan('c1', {})], logs)).runs;
    expect(run?.context).toEqual(['find failed: timed out']);
  });
});

describe('an error on the span of a transfer', () => {
  const spans = (agent: string): Span[] => [
    agentSpan('flow', {}, { lasts: 90 }),
    agentSpan('front', { 'gen_ai.agent.name': 'front' }, { parent: 'flow', lasts: 30 }),
    chatSpan(
      'c1',
      { input: QUESTION, output: toolCall('1', 'transfer_to_billing_agent', {}) },
      { parent: 'front', at: 1 },
    ),
    buildSpan(
      'handoff to billing_agent',
      { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'handoff to billing_agent' },
      { parent: 'front', at: 15, error: 'several' },
    ),
    agentSpan(agent, { 'gen_ai.agent.name': agent }, { parent: 'flow', at: 40, lasts: 30 }),
    chatSpan('c2', { input: QUESTION, output: '9 euros.' }, { parent: agent, at: 45 }),
  ];

  it('is no failure, when the target ran', () => {
    const run = onlyRun(spans('billing_agent'));
    expect(listCalls(run)).toEqual([['1', 'transfer_to_billing_agent', 'call']]);
    expect(answerText(run)).toBe('9 euros.');
  });

  it('is a failure, when another agent ran', () => {
    expect(listCalls(onlyRun(spans('depot_agent')))).toEqual([['1', 'transfer_to_billing_agent', 'several']]);
  });
});

describe('a missing id that an emitter wrote as text', () => {
  it.each(['null', 'None', 'undefined', ''])('%j is neither session nor user', (id) => {
    const attributes = { 'gen_ai.conversation.id': id, 'session.id': id, 'user.id': id };
    const resource = { 'session.id': id, 'user.id': id };
    const content = { input: [QUESTION], output: [chatMessage('assistant', 'In Hamburg.')], attributes };
    expect(onlyRun([chatSpan('c1', content, { resource })])).toMatchObject({ sessionId: null, userId: null });
  });
});

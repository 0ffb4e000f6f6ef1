import { describe, expect, it } from 'vitest';
import { readMessages } from '../../../src/conventions/messages/read-messages.ts';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import {
  agentSpan,
  buildTrace,
  chatMessage,
  chatSpan,
  type SpanOptions,
  toolCall,
  toolResponse,
  toolSpan,
} from '../../support/builders/spans.ts';
import { invocationParts } from '../../support/recordings/facts.ts';

const ID = 'call_0';
const QUESTION = chatMessage('user', 'Compare the weather.');
const ask = (city: string, name = 'weather'): unknown => toolCall(ID, name, { city });
const said = (...parts: unknown[]): unknown => chatMessage('assistant', ...parts);
const got = (...results: unknown[]): unknown =>
  chatMessage('tool', ...results.map((result) => toolResponse(ID, result)));
const gotNamed = (name: string, content: string): unknown => ({
  role: 'tool',
  tool_call_id: ID,
  name,
  content,
});
const ran = (city: string, at: number, result?: string): Span =>
  toolSpan(
    `tool-${at}`,
    { id: ID, name: 'weather', args: { city }, ...(result === undefined ? {} : { result }) },
    { parent: 'agent', at },
  );

/** A model call of the agent, with what it received after the question and what it gave. */
function step(at: number, received: unknown[], output: unknown[], options: SpanOptions = {}): Span {
  return chatSpan(
    `chat-${at}`,
    { input: [QUESTION, ...received], output },
    { parent: 'agent', at, ...options },
  );
}

function listCalls(run: AgentRun | undefined): string[] {
  return invocationParts(run?.output ?? []).map(({ toolInvocation: one }) => {
    const args = one.args as { city?: string } | undefined;
    return `${one.toolName} ${args?.city ?? ''}: ${String(one.state === 'result' ? one.result : one.state)}`;
  });
}

function readRuns(spans: Span[]): AgentRun[] {
  return readTrace(buildTrace(spans)).runs;
}

const PARIS_ROME = ['weather Paris: 18', 'weather Rome: 27'];
const ANSWER = said('Rome is warmer.');
const SEVERAL = said(ask('Paris'), ask('Rome'));

const KINDS: [string, Span[], string[]][] = [
  [
    'in one step, with tool spans that start in another order',
    [
      step(1, [], [SEVERAL]),
      ran('Rome', 20, '27'),
      ran('Paris', 21, '18'),
      step(50, [SEVERAL, got('18', '27')], [ANSWER]),
    ],
    PARIS_ROME,
  ],
  [
    'in one step, with one name and equal arguments: the order of time counts',
    [
      step(1, [], [said(ask('Paris'), ask('Paris'))]),
      ran('Paris', 20, '18'),
      ran('Paris', 21, '19'),
      step(50, [], [ANSWER]),
    ],
    ['weather Paris: 18', 'weather Paris: 19'],
  ],
  [
    'in one step, in messages only',
    [step(1, [], [SEVERAL]), step(50, [SEVERAL, got('18', '27')], [ANSWER])],
    PARIS_ROME,
  ],
  [
    'in one step, with results that name their tools in another order',
    [
      step(1, [], [said(ask('Paris'), ask('Rome', 'time'))]),
      step(
        50,
        [said(ask('Paris'), ask('Rome', 'time')), gotNamed('time', '9:00'), gotNamed('weather', '18')],
        [ANSWER],
      ),
    ],
    ['weather Paris: 18', 'time Rome: 9:00'],
  ],
  [
    'in each step anew, in messages only',
    [
      step(1, [], [said(ask('Paris'))]),
      step(30, [said(ask('Paris')), got('18')], [said(ask('Rome'))]),
      step(50, [said(ask('Paris')), got('18'), said(ask('Rome')), got('27')], [ANSWER]),
    ],
    PARIS_ROME,
  ],
  [
    'in each step anew, with equal arguments',
    [
      step(1, [], [said(ask('Paris'))]),
      step(30, [said(ask('Paris')), got('18')], [said(ask('Paris'))]),
      step(50, [said(ask('Paris')), got('18'), said(ask('Paris')), got('19')], [ANSWER]),
    ],
    ['weather Paris: 18', 'weather Paris: 19'],
  ],
  [
    'in each step anew, with a tool span for the first one only',
    [
      step(1, [], [said(ask('Paris'))]),
      ran('Paris', 20, '18'),
      step(30, [said(ask('Paris')), got('18')], [said(ask('Rome'))]),
      step(50, [said(ask('Paris')), got('18'), said(ask('Rome')), got('27')], [ANSWER]),
    ],
    PARIS_ROME,
  ],
  [
    'in each step anew, in inputs only',
    [
      step(1, [], []),
      step(30, [said(ask('Paris')), got('18')], []),
      step(50, [said(ask('Paris')), got('18'), said(ask('Rome')), got('27')], [ANSWER]),
    ],
    PARIS_ROME,
  ],
  [
    'in one step, in inputs only',
    [step(1, [], []), step(50, [SEVERAL, got('18', '27')], [ANSWER])],
    PARIS_ROME,
  ],
  [
    'again after a call that the first input has already',
    [
      step(1, [said(ask('Paris')), got('18')], [said(ask('Rome'))]),
      step(50, [said(ask('Paris')), got('18'), said(ask('Rome')), got('27')], [ANSWER]),
    ],
    PARIS_ROME,
  ],
  [
    'in an earlier turn too',
    [
      step(1, [said(ask('Oslo')), got('3'), said('Cold.'), QUESTION], [said(ask('Paris'))]),
      step(
        50,
        [said(ask('Oslo')), got('3'), said('Cold.'), QUESTION, said(ask('Paris')), got('18')],
        [ANSWER],
      ),
    ],
    ['weather Paris: 18'],
  ],
  [
    'in each step anew, where a model call receives the newest results alone',
    [
      step(1, [], [said(ask('Paris'))]),
      chatSpan('c2', { input: got('18'), output: said(ask('Rome')) }, { parent: 'agent', at: 30 }),
      chatSpan('c3', { input: got('27'), output: ANSWER }, { parent: 'agent', at: 50 }),
    ],
    PARIS_ROME,
  ],
];

describe('calls with one id have their own results, when they are', () => {
  it.each(KINDS)('%s', (_, spans, expected) => {
    const [run] = readRuns([agentSpan('agent', {}, { lasts: 90 }), ...spans]);
    expect(listCalls(run)).toEqual(expected);
  });

  it('in a sub-agent too, whose calls only its inputs show', () => {
    const inner = [chatMessage('user', 'Paris?'), said(ask('Paris')), got('18')];
    const [run] = readRuns([
      agentSpan('agent', {}, { lasts: 90 }),
      step(1, [], [said(ask('Paris', 'ask_expert'))]),
      toolSpan(
        't',
        { id: ID, name: 'ask_expert', args: { city: 'Paris' } },
        { parent: 'agent', at: 20, lasts: 30 },
      ),
      agentSpan('expert', {}, { parent: 't', at: 21, lasts: 28 }),
      chatSpan('e1', { input: inner, output: said('18 degrees.') }, { parent: 'expert', at: 22 }),
      step(60, [said(ask('Paris', 'ask_expert')), got('18 degrees.')], [ANSWER]),
    ]);
    expect(listCalls(run)).toEqual(['ask_expert Paris: 18 degrees.']);
    expect(listCalls(run?.subRuns[0])).toEqual(['weather Paris: 18']);
  });

  it('of two conversations without an agent that run at once', () => {
    const other = chatMessage('user', 'And in Rome?');
    const spans = [
      chatSpan('a1', { input: QUESTION, output: said(ask('Paris')) }, { at: 1 }),
      chatSpan('b1', { input: [other], output: said(ask('Rome')) }, { at: 2 }),
      toolSpan('ta', { id: ID, name: 'weather', args: { city: 'Paris' }, result: '18' }, { at: 20 }),
      toolSpan('tb', { id: ID, name: 'weather', args: { city: 'Rome' }, result: '27' }, { at: 21 }),
      chatSpan('a2', { input: [QUESTION, said(ask('Paris')), got('18')], output: ANSWER }, { at: 40 }),
      chatSpan('b2', { input: [other, said(ask('Rome')), got('27')], output: ANSWER }, { at: 41 }),
    ];
    expect(readRuns(spans).map(listCalls)).toEqual([['weather Paris: 18'], ['weather Rome: 27']]);
  });

  it('where one of them transfers the conversation', () => {
    const transfer = toolCall(ID, 'transfer_to_expert', {});
    const [run] = readRuns([
      agentSpan('flow', {}, { lasts: 90 }),
      agentSpan('front', {}, { parent: 'flow', lasts: 30 }),
      chatSpan('f1', { input: QUESTION, output: said(ask('Paris')) }, { parent: 'front', at: 1 }),
      chatSpan(
        'f2',
        { input: [QUESTION, said(ask('Paris')), got('18')], output: said(transfer) },
        { parent: 'front', at: 15 },
      ),
      agentSpan('expert', {}, { parent: 'flow', at: 40, lasts: 30 }),
      chatSpan(
        'e1',
        {
          input: [QUESTION, said(ask('Paris')), got('18'), said(transfer), got('transferred')],
          output: ANSWER,
        },
        { parent: 'expert', at: 45 },
      ),
    ]);
    expect(listCalls(run)).toEqual(['weather Paris: 18', 'transfer_to_expert : transferred']);
  });
});

describe('calls with one id in a message', () => {
  const call = (city: string): unknown => ({
    id: ID,
    type: 'function',
    function: { name: 'weather', arguments: JSON.stringify({ city }) },
  });
  const used = (city: string): unknown => ({ type: 'tool_use', id: ID, name: 'weather', input: { city } });

  it.each([
    ['its list of calls', { tool_calls: [call('Paris'), call('Rome')] }],
    [
      'two lists of calls',
      {
        tool_calls: [call('Paris'), call('Rome')],
        additional_kwargs: { tool_calls: [call('Paris'), call('Rome')] },
      },
    ],
    [
      'its blocks and its list of calls',
      { content: [used('Paris'), used('Rome')], tool_calls: [call('Paris'), call('Rome')] },
    ],
  ])('are all read from %s, each once', (_, message) => {
    const [read] = readMessages([{ role: 'assistant', ...message }], 'assistant');
    expect(read?.parts.map((part) => part.type === 'tool-call' && part.args)).toEqual([
      { city: 'Paris' },
      { city: 'Rome' },
    ]);
  });
});

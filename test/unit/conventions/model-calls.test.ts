import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import type { AgentMessage } from '../../../src/domain/trace/messages.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { buildSpan, computeSpanId } from '../../support/builders/spans.ts';

const say = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });
const ASKS = {
  role: 'assistant',
  parts: [{ type: 'tool_call', id: 'c1', name: 'get', arguments: { city: 'Rome' } }],
};
const GETS = { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'rain' }] };
const HISTORY = [say('user', 'Hi, I am Ann.'), say('assistant', 'Hello Ann!')];
const QUESTION = say('user', 'Does it rain?');

function chat(id: string, at: number, input: unknown[], output: unknown[], options = {}): Span {
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.system_instructions': [{ type: 'text', content: 'Be brief.' }],
    'gen_ai.input.messages': input,
    'gen_ai.output.messages': output,
    'gen_ai.usage.input_tokens': '10',
    'gen_ai.usage.output_tokens': '2',
  };
  return buildSpan(id, attributes, { parent: 'agent', at, ...options });
}

const AGENT = buildSpan(
  'agent',
  {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'weather',
    'gen_ai.conversation.id': 's',
    'user.id': 'ann',
  },
  { lasts: 100 },
);
const FIRST = chat('first', 1, [...HISTORY, QUESTION], [ASKS]);
const TOOL = buildSpan(
  'tool',
  {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'get',
    'gen_ai.tool.call.id': 'c1',
    'gen_ai.tool.call.result': 'rain',
  },
  { parent: 'agent', at: 20 },
);
const SECOND = chat('second', 40, [...HISTORY, QUESTION, ASKS, GETS], [say('assistant', 'It rains.')]);

function read(spans: Span[], modelCalls = 100) {
  return readTrace({ traceId: AGENT.traceId, spans, logs: [] }, { modelCalls });
}

function texts(messages: readonly AgentMessage[]) {
  return messages.map(({ role, content }) => {
    const parts = content.parts.map((part) => {
      if (part.type === 'tool-invocation' && 'toolInvocation' in part) {
        const {
          toolName,
          state,
          result = '',
        } = part.toolInvocation as {
          toolName: string;
          state: string;
          result?: string;
        };
        return `${toolName} ${state} ${result}`.trim();
      }
      return 'text' in part ? part['text'] : part.type;
    });
    return `${role}: ${parts.join(' | ')}`;
  });
}

describe('the model calls of a trace', () => {
  it('are no part of a reading that nobody asked for them', () => {
    const reading = readTrace({ traceId: AGENT.traceId, spans: [AGENT, FIRST], logs: [] });
    expect(reading).not.toHaveProperty('modelCalls');
    expect(reading).not.toHaveProperty('modelCallsLeftOut');
  });

  it('are runs with the messages that the model received and its own answer', () => {
    const { modelCalls: [first, second] = [], modelCallsLeftOut } = read([SECOND, TOOL, FIRST, AGENT]);
    expect(modelCallsLeftOut).toBe(0);
    expect(first).toMatchObject({
      target: { kind: 'model-call', traceId: AGENT.traceId, spanId: computeSpanId('first') },
      agent: 'weather',
      sessionId: 's',
      userId: 'ann',
      models: ['m'],
      usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 },
      status: 'ok',
      context: [],
      scorable: true,
      notScorable: null,
      subRuns: [],
    });
    expect(first?.input.systemMessages).toEqual([{ role: 'system', content: 'Be brief.' }]);
    expect(texts(first?.input.rememberedMessages ?? [])).toEqual([
      'user: Hi, I am Ann.',
      'assistant: Hello Ann!',
    ]);
    expect(texts(first?.input.inputMessages ?? [])).toEqual(['user: Does it rain?']);
    expect(texts(first?.output ?? [])).toEqual(['assistant: get call']);
    expect(texts(second?.input.inputMessages ?? [])).toEqual([
      'user: Does it rain?',
      'assistant: get result rain',
    ]);
    expect(texts(second?.output ?? [])).toEqual(['assistant: It rains.']);
    expect(second?.context).toEqual(['rain']);
    expect(Date.parse(second!.startedAt) - Date.parse(first!.startedAt)).toBe(39);
  });

  it('do not change the run of their agent', () => {
    const spans = [AGENT, FIRST, TOOL, SECOND];
    const { runs } = readTrace({ traceId: AGENT.traceId, spans, logs: [] });
    expect(read(spans).runs).toEqual(runs);
  });

  it('that ended in tool calls are whole; one without any output, or that failed, is not', () => {
    const silent = chat('silent', 50, [QUESTION], []);
    const failed = chat('failed', 60, [QUESTION], [], { error: 'too many tokens' });
    const codes = read([AGENT, FIRST, silent, failed]).modelCalls?.map(
      (run) => run.notScorable?.code ?? null,
    );
    expect(codes).toEqual([null, 'run_incomplete', 'run_errored_before_output']);
  });

  it('are read up to the limit, the earliest first, and the others are counted', () => {
    const many = Array.from({ length: 5 }, (_, at) =>
      chat(`n${at}`, at, [QUESTION], [say('assistant', `${at}`)]),
    );
    const { modelCalls, modelCallsLeftOut } = read([AGENT, ...many.toReversed()], 3);
    expect(modelCalls?.map((run) => texts(run.output)[0])).toEqual([
      'assistant: 0',
      'assistant: 1',
      'assistant: 2',
    ]);
    expect(modelCallsLeftOut).toBe(2);
  });

  it('of agents below, of tools and without any agent are read too, each once', () => {
    const sub = buildSpan(
      'sub',
      { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'helper' },
      { parent: 'tool', at: 21 },
    );
    const below = chat('below', 22, [QUESTION], [say('assistant', 'b')], { parent: 'sub' });
    const free = chat('free', 80, [QUESTION], [say('assistant', 'f')], { parent: undefined });
    const { modelCalls = [] } = read([AGENT, FIRST, TOOL, sub, below, SECOND, free]);
    expect(modelCalls.map((run) => [run.target.spanId, run.agent])).toEqual([
      [computeSpanId('first'), 'weather'],
      [computeSpanId('below'), 'helper'],
      [computeSpanId('second'), 'weather'],
      [computeSpanId('free'), null],
    ]);
  });
});

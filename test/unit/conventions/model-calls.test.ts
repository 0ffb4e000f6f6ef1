import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/index.ts';
import type { AgentMessage } from '../../../src/domain/trace/messages.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import {
  agentSpan,
  buildTrace,
  chatMessage,
  chatSpan,
  computeSpanId,
  toolCall,
  toolResponse,
  toolSpan,
} from '../../support/builders/spans.ts';

const QUESTION = 'Does it rain?';
const ASKED = ['Hi, I am Ann.', chatMessage('assistant', 'Hello Ann!'), QUESTION];
const ASKS = toolCall('c1', 'get', { city: 'Rome' });

function chat(id: string, at: number, input: unknown, output: unknown, options = {}): Span {
  const attributes = {
    'gen_ai.system_instructions': [{ type: 'text', content: 'Be brief.' }],
    'gen_ai.usage.input_tokens': '10',
    'gen_ai.usage.output_tokens': '2',
  };
  return chatSpan(id, { input, output, attributes }, { parent: 'weather', at, ...options });
}

const AGENT = agentSpan('weather', { 'gen_ai.conversation.id': 's', 'user.id': 'ann' }, { lasts: 100 });
const FIRST = chat('first', 1, ASKED, ASKS);
const TOOL = toolSpan('tool', { id: 'c1', name: 'get', result: 'rain' }, { parent: 'weather', at: 20 });
const SECOND = chat('second', 40, [...ASKED, ASKS, toolResponse('c1', 'rain')], 'It rains.');

function read(spans: Span[], modelCalls = 100) {
  return readTrace(buildTrace(spans), { modelCalls });
}

function texts(messages: readonly AgentMessage[]) {
  return messages.map(({ role, content }) => {
    const parts = content.parts.map((part) => {
      if (part.type === 'tool-invocation' && 'toolInvocation' in part) {
        const { toolName, state, result } = part.toolInvocation;
        return [toolName, state, result].join(' ').trim();
      }
      return 'text' in part ? part['text'] : part.type;
    });
    return `${role}: ${parts.join(' | ')}`;
  });
}

describe('the model calls of a trace', () => {
  it('are no part of a reading that nobody asked for them', () => {
    const reading = readTrace(buildTrace([AGENT, FIRST]));
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
    const { runs } = readTrace(buildTrace(spans));
    expect(read(spans).runs).toEqual(runs);
  });

  it('that ended in tool calls are whole; one without any output, or that failed, is not', () => {
    const silent = chat('silent', 50, QUESTION, []);
    const failed = chat('failed', 60, QUESTION, [], { error: 'too many tokens' });
    const codes = read([AGENT, FIRST, silent, failed]).modelCalls?.map(
      (run) => run.notScorable?.code ?? null,
    );
    expect(codes).toEqual([null, 'run_incomplete', 'run_errored_before_output']);
  });

  it('are read up to the limit, the earliest first, and the others are counted', () => {
    const many = Array.from({ length: 5 }, (_, at) => chat(`n${at}`, at, QUESTION, `${at}`));
    const { modelCalls, modelCallsLeftOut } = read([AGENT, ...many.toReversed()], 3);
    expect(modelCalls?.map((run) => texts(run.output)[0])).toEqual([
      'assistant: 0',
      'assistant: 1',
      'assistant: 2',
    ]);
    expect(modelCallsLeftOut).toBe(2);
  });

  it('of agents below, of tools and without any agent are read too, each once', () => {
    const sub = agentSpan('helper', {}, { parent: 'tool', at: 21 });
    const below = chat('below', 22, QUESTION, 'b', { parent: 'helper' });
    const free = chat('free', 80, QUESTION, 'f', { parent: undefined });
    const { modelCalls = [] } = read([AGENT, FIRST, TOOL, sub, below, SECOND, free]);
    expect(modelCalls.map((run) => [run.target.spanId, run.agent])).toEqual([
      [computeSpanId('first'), 'weather'],
      [computeSpanId('below'), 'helper'],
      [computeSpanId('second'), 'weather'],
      [computeSpanId('free'), null],
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../src/conventions/traces/read-traces.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { invocationParts, textOfMessage } from '../../../support/recordings/facts.ts';
import { type SpanOptions, chatMessage, buildSpan, buildTrace } from '../../../support/builders/spans.ts';

function mastra(
  id: string,
  type: string,
  attributes: Record<string, unknown>,
  options: SpanOptions = {},
): Span {
  return buildSpan(id, { 'mastra.span.type': type, ...attributes }, options);
}

const STORED = {
  role: 'user',
  createdAt: '2026-11-21T10:45:58Z',
  content: { format: 2, parts: [{ type: 'text', text: 'Hi' }] },
};
const GIVEN = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'Hello' },
  { role: 'user', content: 'Weather?' },
];

/** A run as the exporter sends it: the inference has lost the call, the step and the generation around it have not. */
function run(): Span[] {
  return [
    mastra(
      'agent',
      'agent_run',
      {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'weather',
        'mastra.agent_run.input': [STORED, { role: 'user', content: 'Weather?' }],
        'mastra.agent_run.output': { text: 'Rain.', files: [] },
        'mastra.metadata.threadId': 'thr-1',
        'mastra.metadata.resourceId': 'user-9',
      },
      { lasts: 90 },
    ),
    mastra(
      'gen',
      'model_generation',
      { 'mastra.model_generation.input': { messages: GIVEN } },
      { parent: 'agent', at: 1, lasts: 80 },
    ),
    mastra(
      's1',
      'model_step',
      {
        'mastra.model_step.output': {
          text: '',
          reasoning: [{ text: 'Hm.' }],
          toolCalls: [{ toolCallId: '1', toolName: 'get', args: { a: 1 } }],
        },
      },
      { parent: 'gen', at: 2 },
    ),
    mastra(
      'i1',
      'model_inference',
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.response.model': 'm',
        'gen_ai.usage.input_tokens': 5,
        'gen_ai.usage.output_tokens': 2,
        'gen_ai.output.messages': [chatMessage('assistant', '')],
      },
      { parent: 's1', at: 3, lasts: 4 },
    ),
    mastra(
      't1',
      'tool_call',
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'get',
        'gen_ai.tool.call.id': '1',
        'gen_ai.tool.call.arguments': { a: 1, threadId: 'thr-1' },
        'gen_ai.tool.call.result': { text: 'rain', subAgentThreadId: 'x' },
      },
      { parent: 's1', at: 8 },
    ),
    mastra('s2', 'model_step', { 'mastra.model_step.output': { text: 'Rain.' } }, { parent: 'gen', at: 40 }),
  ];
}

describe('Mastra', () => {
  const { runs } = readTrace(buildTrace(run()));
  const [only] = runs;

  it('recovers calls and reasoning from the steps, and counts each model call once', () => {
    expect(runs).toHaveLength(1);
    expect(only?.output[0]?.content.parts.map((part) => part.type)).toEqual([
      'reasoning',
      'tool-invocation',
      'step-start',
      'text',
    ]);
    expect(only?.usage.totalTokens).toBe(7);
    expect(only?.models).toEqual(['m']);
    expect(only?.conventions).toContain('mastra');
  });

  it('takes stored messages for memory and the rest for the input', () => {
    expect(only?.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(only?.input.rememberedMessages.map(textOfMessage)).toEqual(['Hi', 'Hello']);
    expect(only?.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect([only?.sessionId, only?.userId]).toEqual(['thr-1', 'user-9']);
  });

  it('shows the arguments a tool ran with, and of a sub-agent’s result the answer', () => {
    const [part] = invocationParts(only?.output ?? []);
    expect(part?.toolInvocation).toMatchObject({ args: { a: 1, threadId: 'thr-1' }, result: 'rain' });
  });
});

import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../src/conventions/traces/read-traces.ts';
import { answerText, invocationParts, textOfMessage } from '../../../support/recordings/facts.ts';
import { chatSpan, chatMessage, buildSpan, toolCall, buildTrace } from '../../../support/builders/spans.ts';

describe('Traceloop', () => {
  it('reads decorated agents and tools, and the session among the association properties', () => {
    const session = {
      'traceloop.association.properties.session_id': 's',
      'traceloop.association.properties.user_id': 'u',
    };
    const { runs } = readTrace(
      buildTrace([
        buildSpan(
          'w',
          {
            'traceloop.span.kind': 'workflow',
            'traceloop.entity.name': 'main',
            'traceloop.entity.input': { args: ['Weather?'], kwargs: {} },
            'traceloop.entity.output': '"Rain."',
            ...session,
          },
          { lasts: 90 },
        ),
        chatSpan(
          'c1',
          { input: 'Weather?', output: toolCall('1', 'get', { city: 'Paris' }) },
          { parent: 'w', at: 1 },
        ),
        buildSpan(
          't',
          {
            'traceloop.span.kind': 'tool',
            'traceloop.entity.name': 'get',
            'traceloop.entity.input': { args: [], kwargs: { city: 'Paris' } },
            'traceloop.entity.output': { ok: true },
          },
          { parent: 'w', at: 20 },
        ),
        chatSpan('c2', { output: 'Rain.' }, { parent: 'w', at: 40 }),
      ]),
    );
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ agent: 'main', sessionId: 's', userId: 'u', context: ['{"ok":true}'] });
    expect(runs.map(answerText)).toEqual(['Rain.']);
  });

  it('reads flattened messages of older versions, whose tool calls have no ids', () => {
    const { runs } = readTrace(
      buildTrace([
        buildSpan('openai.chat', {
          'llm.request.type': 'chat',
          'gen_ai.prompt.0.role': 'system',
          'gen_ai.prompt.0.content': 'Be kind.',
          'gen_ai.prompt.1.role': 'user',
          'gen_ai.prompt.1.content': 'Weather?',
          'gen_ai.completion.0.role': 'assistant',
          'gen_ai.completion.0.tool_calls.0.name': 'get',
          'gen_ai.completion.0.tool_calls.0.arguments': '{"city":"Paris"}',
        }),
      ]),
    );
    expect(runs[0]?.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(runs[0]?.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(invocationParts(runs[0]?.output ?? [])[0]?.toolInvocation).toMatchObject({
      toolName: 'get',
      args: { city: 'Paris' },
    });
  });

  it('opens the blocks that LangChain’s instrumentation wrote into a text, and calls a tool by its own name', () => {
    const scope = '@traceloop/instrumentation-langchain';
    const blocks = JSON.stringify([{ type: 'text', text: 'Be kind.' }]);
    const message = { content: '{"tempC":18}', tool_call_id: '1', name: 'get', status: 'success' };
    const { runs } = readTrace(
      buildTrace([
        buildSpan('web', {}, { lasts: 90 }),
        buildSpan(
          't',
          {
            'gen_ai.operation.name': 'execute_tool',
            'traceloop.span.kind': 'task',
            'traceloop.entity.name': 'DynamicStructuredTool',
            'traceloop.entity.input': { args: ['{"city":"Paris"}'] },
            'traceloop.entity.output': {
              lc: 1,
              type: 'constructor',
              id: ['langchain_core', 'messages', 'ToolMessage'],
              kwargs: message,
            },
          },
          { parent: 'web', at: 5, scope },
        ),
        chatSpan(
          'c',
          { input: [chatMessage('system', blocks), chatMessage('user', blocks)], output: 'Rain.' },
          { parent: 'web', at: 20, scope },
        ),
      ]),
    );
    expect(runs).toHaveLength(1);
    expect(runs[0]?.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(runs[0]?.input.inputMessages.map(textOfMessage)).toEqual(['Be kind.']);
    expect(invocationParts(runs[0]?.output ?? [])[0]?.toolInvocation).toMatchObject({
      toolName: 'get',
      args: { city: 'Paris' },
      result: { tempC: 18 },
    });
  });

  it('leaves a text of other instrumentations a text, also where it looks like blocks', () => {
    const blocks = JSON.stringify([{ type: 'text', text: 'Be kind.' }]);
    const { runs } = readTrace(buildTrace([chatSpan('c', { input: blocks, output: 'Rain.' })]));
    expect(runs[0]?.input.inputMessages.map(textOfMessage)).toEqual([blocks]);
  });
});

import { describe, expect, it } from 'vitest';
import { answerText, invocationParts, textOfMessage, onlyRun } from '../../../support/recordings/facts.ts';
import { chatSpan, chatMessage, buildSpan, toolCall } from '../../../support/builders/spans.ts';

describe('Traceloop', () => {
  it('reads decorated agents and tools, and the session among the association properties', () => {
    const session = {
      'traceloop.association.properties.session_id': 's',
      'traceloop.association.properties.user_id': 'u',
    };
    const run = onlyRun([
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
    ]);
    expect(run).toMatchObject({ agent: 'main', sessionId: 's', userId: 'u', context: ['{"ok":true}'] });
    expect(answerText(run)).toBe('Rain.');
  });

  it('reads flattened messages of older versions, whose tool calls have no ids', () => {
    const run = onlyRun([
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
    ]);
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(invocationParts(run.output)[0]?.toolInvocation).toMatchObject({
      toolName: 'get',
      args: { city: 'Paris' },
    });
  });

  it('opens the blocks that LangChain’s instrumentation wrote into a text, and calls a tool by its own name', () => {
    const scope = '@traceloop/instrumentation-langchain';
    const blocks = JSON.stringify([{ type: 'text', text: 'Be kind.' }]);
    const message = { content: '{"tempC":18}', tool_call_id: '1', name: 'get', status: 'success' };
    const run = onlyRun([
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
    ]);
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Be kind.']);
    expect(invocationParts(run.output)[0]?.toolInvocation).toMatchObject({
      toolName: 'get',
      args: { city: 'Paris' },
      result: { tempC: 18 },
    });
  });

  it('leaves a text of other instrumentations a text, also where it looks like blocks', () => {
    const blocks = JSON.stringify([{ type: 'text', text: 'Be kind.' }]);
    const run = onlyRun([chatSpan('c', { input: blocks, output: 'Rain.' })]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual([blocks]);
  });
});

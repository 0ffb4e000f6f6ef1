import { describe, expect, it } from 'vitest';
import { invocations, answerText, textOfMessage, onlyRun } from '../../../support/recordings/facts.ts';
import {
  agentSpan,
  chatSpan,
  chatMessage,
  buildSpan,
  toolCall,
  toolResponse,
  toolSpan,
} from '../../../support/builders/spans.ts';

describe('Genkit', () => {
  const flow = { 'genkit:type': 'action', 'genkit:metadata:subtype': 'flow', 'genkit:name': 'weather' };

  it('fails a tool whose state is an error, and excludes evaluators', () => {
    const run = onlyRun([
      buildSpan('flow', { ...flow, 'genkit:input': '"Weather?"', 'genkit:output': '"Down."' }, { lasts: 90 }),
      buildSpan(
        'model',
        {
          'genkit:metadata:subtype': 'model',
          'genkit:name': 'p/m',
          'genkit:input': { messages: [{ role: 'user', content: [{ text: 'Weather?' }] }] },
          'genkit:output': {
            candidates: [
              { message: { role: 'model', content: [{ toolRequest: { name: 'get', ref: '1' } }] } },
            ],
          },
        },
        { parent: 'flow', at: 1 },
      ),
      buildSpan(
        'get',
        { 'genkit:metadata:subtype': 'tool.v2', 'genkit:name': 'get', 'genkit:state': 'error' },
        { parent: 'flow', at: 20, error: 'no service' },
      ),
      buildSpan('judge', { 'genkit:metadata:subtype': 'evaluator' }, { parent: 'flow', at: 30 }),
    ]);
    expect(run).toMatchObject({ agent: 'weather', models: ['p/m'] });
    expect(invocations(run)).toMatchObject([
      { toolCallId: '1', state: 'output-error', errorText: 'no service' },
    ]);
    expect(answerText(run)).toBe('Down.');
  });
});

describe('Koog', () => {
  it('takes neither input nor usage from the agent span, which holds the conversation before the run', () => {
    const before = [chatMessage('User', 'Hi'), chatMessage('Assistant', 'Hello')];
    const run = onlyRun([
      buildSpan(
        'agent',
        {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.id': 'weather',
          'koog.event.id': 'e',
          'gen_ai.input.messages': before,
          'gen_ai.output.messages': before,
          'gen_ai.usage.input_tokens': 0,
        },
        { lasts: 90 },
      ),
      chatSpan(
        'c',
        {
          input: [...before, chatMessage('User', 'Weather?')],
          output: chatMessage('Assistant', 'Rain.'),
          attributes: { 'koog.event.id': 'f', 'gen_ai.usage.input_tokens': 7 },
        },
        { parent: 'agent', at: 1 },
      ),
    ]);
    expect(run).toMatchObject({ agent: 'weather', usage: { inputTokens: 7 } });
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(run.input.rememberedMessages.map(textOfMessage)).toEqual(['Hi', 'Hello']);
    expect(answerText(run)).toBe('Rain.');
  });
});

describe('a tool whose span fails without a word', () => {
  it('fails with the error text that the model received', () => {
    const asked = [chatMessage('User', 'Weather?'), chatMessage('Assistant', toolCall('1', 'get', { a: 1 }))];
    const told = 'Tool with name get failed: no service';
    const failed = toolSpan(
      'get',
      { id: '1', name: 'get', args: { a: 1 }, result: {} },
      { parent: 'agent', at: 20 },
    );
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 90 }),
      chatSpan('c1', { input: asked.slice(0, 1), output: asked.slice(1) }, { parent: 'agent', at: 1 }),
      {
        ...failed,
        statusCode: 'Error',
        attributes: new Map([...failed.attributes, ['error.type', 'Failure']]),
      },
      chatSpan(
        'c2',
        { input: [...asked, toolResponse('1', told)], output: chatMessage('Assistant', 'Sorry.') },
        { parent: 'agent', at: 40 },
      ),
    ]);
    expect(run.context).toEqual([`get failed: ${told}`]);
  });
});

describe('Koog before 1.0', () => {
  it('reads calls that stand as the content of tool messages, and tools by names without a prefix', () => {
    const scope = { scope: 'ai.koog' };
    const call = [{ function: { name: 'Bye', arguments: '{"name":"Bob"}' }, id: 'call_1', type: 'function' }];
    const run = onlyRun([
      buildSpan('run', { 'gen_ai.operation.name': 'invoke_agent' }, { ...scope, lasts: 90 }),
      buildSpan(
        'llm.chat',
        {
          'gen_ai.operation.name': 'chat',
          'gen_ai.prompt.0.role': 'user',
          'gen_ai.prompt.0.content': 'Say goodbye to Bob.',
          'gen_ai.completion.0.role': 'tool',
          'gen_ai.completion.0.content': call,
        },
        { ...scope, parent: 'run', at: 1 },
      ),
      buildSpan(
        'tool.Bye',
        {
          'gen_ai.tool.name': 'Bye',
          'gen_ai.tool.call.id': 'call_1',
          'input.value': { name: 'Bob' },
          'output.value': 'Bye Bob!',
        },
        { ...scope, parent: 'run', at: 20 },
      ),
      buildSpan(
        'second chat',
        {
          'gen_ai.operation.name': 'chat',
          'gen_ai.prompt.0.role': 'user',
          'gen_ai.prompt.0.content': 'Say goodbye to Bob.',
          'gen_ai.prompt.1.role': 'tool',
          'gen_ai.prompt.1.content': call,
          'gen_ai.prompt.2.role': 'tool',
          'gen_ai.prompt.2.content': 'Bye Bob!',
          'gen_ai.completion.0.role': 'assistant',
          'gen_ai.completion.0.content': 'Done.',
        },
        { ...scope, parent: 'run', at: 40 },
      ),
    ]);
    expect(invocations(run)).toEqual([
      { toolCallId: 'call_1', toolName: 'Bye', args: { name: 'Bob' }, state: 'result', result: 'Bye Bob!' },
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Say goodbye to Bob.']);
    expect(answerText(run)).toBe('Done.');
  });
});

describe('Google ADK', () => {
  it('reads agents whose spans say their name only', () => {
    const scope = { scope: 'gcp.vertex.agent' };
    const run = onlyRun([
      buildSpan('invocation', {}, { ...scope, lasts: 99 }),
      buildSpan('agent_run [weather]', {}, { ...scope, parent: 'invocation', lasts: 90 }),
      buildSpan(
        'call_llm',
        {
          'gcp.vertex.agent.session_id': 's-1',
          'gcp.vertex.agent.llm_request': {
            config: { system_instruction: 'Be kind.' },
            contents: [
              { role: 'user', parts: [{ text: 'For context: an agent said this.' }] },
              { role: 'user', parts: [{ text: 'Weather?' }] },
            ],
          },
          'gcp.vertex.agent.llm_response': { content: { role: 'model', parts: [{ text: 'Rain.' }] } },
        },
        { ...scope, parent: 'agent_run [weather]', at: 1 },
      ),
    ]);
    expect(run).toMatchObject({ agent: 'weather', sessionId: 's-1' });
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(answerText(run)).toBe('Rain.');
  });

  it('knows a call again that is given its id after the model asked for it', () => {
    const scope = { scope: 'gcp.vertex.agent' };
    const asked = { role: 'user', parts: [{ text: 'Weather?' }] };
    const call = { name: 'get', args: { a: 1 } };
    const answered = { functionResponse: { id: 'adk-1', name: 'get', response: { ok: true } } };
    const run = onlyRun([
      buildSpan('agent', { 'gen_ai.operation.name': 'invoke_agent' }, { ...scope, lasts: 90 }),
      buildSpan(
        'c1',
        {
          'gen_ai.operation.name': 'call_llm',
          'gcp.vertex.agent.llm_request': { contents: [asked] },
          'gcp.vertex.agent.llm_response': { content: { role: 'model', parts: [{ functionCall: call }] } },
        },
        { ...scope, parent: 'agent', at: 1 },
      ),
      buildSpan(
        'c2',
        {
          'gen_ai.operation.name': 'call_llm',
          'gcp.vertex.agent.llm_request': {
            contents: [
              asked,
              { role: 'model', parts: [{ functionCall: { ...call, id: 'adk-1' } }] },
              {
                role: 'user',
                parts: [answered, { text: 'Handle the requests as specified in the System Instruction.' }],
              },
            ],
          },
          'gcp.vertex.agent.llm_response': { content: { role: 'model', parts: [{ text: 'Rain.' }] } },
        },
        { ...scope, parent: 'agent', at: 40 },
      ),
    ]);
    expect(invocations(run)).toEqual([
      { toolCallId: 'adk-1', toolName: 'get', args: { a: 1 }, state: 'result', result: { ok: true } },
    ]);
  });

  it('ignores the span that merges parallel tool calls, and placeholders of missing values', () => {
    const scope = { scope: 'gcp.vertex.agent' };
    const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get' };
    const run = onlyRun([
      buildSpan('agent', { 'gen_ai.operation.name': 'invoke_agent' }, { ...scope, lasts: 90 }),
      buildSpan(
        'call_llm',
        {
          'gcp.vertex.agent.llm_request': { contents: [{ role: 'user', parts: [{ text: 'Weather?' }] }] },
          'gcp.vertex.agent.llm_response': {
            content: {
              role: 'model',
              parts: [
                { text: 'I think.', thought: true },
                { function_call: { name: 'get', args: { a: 1 } } },
              ],
            },
          },
        },
        { ...scope, parent: 'agent', at: 1 },
      ),
      buildSpan(
        'get',
        {
          ...tool,
          'gcp.vertex.agent.tool_call_args': { a: 1 },
          'gcp.vertex.agent.tool_response': '<not specified>',
        },
        { ...scope, parent: 'call_llm', at: 2 },
      ),
      buildSpan(
        'merged',
        { ...tool, 'gcp.vertex.agent.tool_call_args': 'N/A', 'gcp.vertex.agent.tool_response': '{"x":1}' },
        { ...scope, parent: 'call_llm', at: 3 },
      ),
    ]);
    expect(run.output[0]?.content.parts.map(({ type }) => type)).toEqual(['reasoning', 'tool-invocation']);
    expect(invocations(run)).toMatchObject([{ toolName: 'get', args: { a: 1 }, state: 'call' }]);
  });
});

describe('Haystack', () => {
  it('recognises a retriever, a generator and an agent by class when content is not traced', () => {
    const component = (id: string, type: string, at: number) =>
      buildSpan(
        id,
        { 'haystack.component.type': type },
        { scope: 'haystack', name: 'haystack.component.run', parent: 'agent', at },
      );
    const run = onlyRun([
      buildSpan(
        'agent',
        { 'haystack.agent.max_steps': 9 },
        { scope: 'haystack', name: 'haystack.agent.run', lasts: 90 },
      ),
      component('llm', 'OpenAIChatGenerator', 1),
      component('find', 'InMemoryBM25Retriever', 20),
    ]);
    expect(run.notScorable?.code).toBe('no_content_captured');
    expect(run.notScorable?.detail).toContain('HAYSTACK_CONTENT_TRACING_ENABLED=true');
  });
});

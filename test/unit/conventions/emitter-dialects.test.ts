import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import {
  answerText,
  invocationParts,
  textOfMessage,
  listCalls,
  onlyRun,
} from '../../support/recordings/facts.ts';
import {
  agentSpan,
  chatSpan,
  chatMessage,
  buildSpan,
  toolCall,
  toolSpan,
  buildTrace,
} from '../../support/builders/spans.ts';

function buildReading(spans: Span[]): TraceReading {
  const reading = readTrace(buildTrace(spans));
  expect(reading.notUnderstood).toEqual([]);
  return reading;
}

const QUESTION = chatMessage('user', 'Weather?');
const ANSWER = chatMessage('assistant', 'Rain.');
const CALL = chatMessage('assistant', toolCall('1', 'get', { a: 1 }));

describe('tools that a model could call', () => {
  const parameters = { type: 'object', properties: { a: {} }, required: ['a'] };
  const whole = { name: 'get', description: 'Gets.', parameters };
  const nested = { type: 'function', function: whole };

  it.each([
    ['gen_ai.tool.definitions', [{ type: 'function', ...whole }], whole],
    ['gen_ai.tool.definitions', [nested], whole],
    ['gen_ai.tool.definitions', [{ name: 'get', description: 'Gets.', inputSchema: parameters }], whole],
    [
      'gen_ai.tool.definitions',
      [{ toolSpec: { ...whole, parameters: undefined, inputSchema: { json: parameters } } }],
      whole,
    ],
    ['gen_ai.tool.definitions', [{ function_declarations: [whole] }], whole],
    ['gen_ai.tool.definitions', ['get'], { name: 'get' }],
    ['gen_ai.request.available_tools', [whole], whole],
    ['ai.prompt.tools', [JSON.stringify({ type: 'function', ...whole })], whole],
    ['llm.tools.0.tool.json_schema', nested, whole],
    ['llm.invocation_parameters', { temperature: 0, tools: [nested] }, whole],
    ['llm.request.functions.0', { ...whole, parameters: JSON.stringify(parameters) }, whole],
    [
      'model_request_parameters',
      {
        function_tools: [{ ...whole, parameters: undefined, parameters_json_schema: parameters }],
        output_tools: [],
      },
      whole,
    ],
    ['gcp.vertex.agent.llm_request', { config: { tools: [{ function_declarations: [whole] }] } }, whole],
    ['llm.invocation_parameters', { temperature: 0 }, undefined],
  ])('are read from %s as %j', (key, value, tool) => {
    const attributes = key.endsWith('functions.0')
      ? Object.fromEntries(Object.entries(value).map(([name, part]) => [`${key}.${name}`, part as string]))
      : { [key]: value };
    const call = { input: [QUESTION], output: [ANSWER], attributes };
    const run = onlyRun([
      agentSpan('agent'),
      chatSpan('chat', call, { parent: 'agent' }),
      chatSpan('again', call, { parent: 'agent', at: 2 }),
    ]);
    expect(run.tools).toEqual(tool === undefined ? undefined : [tool]);
  });
});

describe('emitters that share a convention and differ in a detail', () => {
  it('Mastra’s bridge: the agent stands below a web server’s span', () => {
    const scope = '@mastra/otel-bridge';
    const run = onlyRun([
      buildSpan('POST /chat', { 'http.request.method': 'POST' }, { scope: 'http', lasts: 120 }),
      buildSpan(
        'invoke_agent weather',
        {
          'gen_ai.operation.name': 'invoke_agent',
          'mastra.span.type': 'agent_run',
          'gen_ai.agent.name': 'weather',
          'gen_ai.system_instructions': 'Be kind.',
          'mastra.agent_run.input': [{ role: 'user', content: 'Weather?' }],
          'mastra.agent_run.output': { text: 'Rain.', files: [] },
          'mastra.metadata.sessionId': 's',
        },
        { scope, parent: 'POST /chat', at: 5, lasts: 100 },
      ),
      buildSpan(
        'execute_tool get',
        {
          'gen_ai.operation.name': 'execute_tool',
          'mastra.span.type': 'tool_call',
          'gen_ai.tool.name': 'get',
          'gen_ai.tool.call.arguments': { a: 1 },
          'gen_ai.tool.call.result': { ok: true },
        },
        { scope, parent: 'invoke_agent weather', at: 20 },
      ),
    ]);
    expect(run).toMatchObject({ agent: 'weather', sessionId: 's' });
    expect(listCalls(run)).toEqual([['get', { a: 1 }, { ok: true }]]);
    expect(answerText(run)).toBe('Rain.');
  });

  it('Microsoft.Extensions.AI: a span around tools repeats the usage, and ids are names of functions', () => {
    const scope = 'Experimental.Microsoft.Extensions.AI';
    const usage = { 'gen_ai.usage.input_tokens': 5 };
    const call = chatMessage('assistant', toolCall('get', 'get', { a: 1 }));
    const run = onlyRun([
      buildSpan('orchestrate_tools', { ...usage, 'gen_ai.usage.input_tokens': 10 }, { scope, lasts: 99 }),
      chatSpan(
        'c1',
        { input: QUESTION, output: [call], attributes: usage },
        { scope, parent: 'orchestrate_tools', at: 1 },
      ),
      toolSpan(
        'execute_tool get',
        { id: 'get', name: 'get', result: '{"response_status":"Error"}' },
        { scope, parent: 'orchestrate_tools', at: 20 },
      ),
      chatSpan(
        'c2',
        { input: [QUESTION, call], output: ANSWER, attributes: usage },
        { scope, parent: 'orchestrate_tools', at: 40 },
      ),
    ]);
    expect(run.usage.inputTokens).toBe(10);
    expect(listCalls(run)).toEqual([['get', { a: 1 }, { response_status: 'Error' }]]);
    expect(answerText(run)).toBe('Rain.');
  });

  it('LiteLLM before 2026: flattened messages, and a raw request below each call', () => {
    const scope = 'litellm';
    const run = onlyRun([
      buildSpan('Received Proxy Server Request', {}, { scope, lasts: 60 }),
      buildSpan(
        'auth',
        { call_type: 'auth' },
        { scope, parent: 'Received Proxy Server Request', at: 1, lasts: 1 },
      ),
      buildSpan(
        'litellm_request',
        {
          'gen_ai.request.model': 'm',
          'llm.request.type': 'chat',
          'llm.user': 'u',
          'gen_ai.prompt.0.role': 'system',
          'gen_ai.prompt.0.content': 'Be kind.',
          'gen_ai.prompt.1.role': 'user',
          'gen_ai.prompt.1.content': 'Weather?',
          'gen_ai.completion.0.role': 'assistant',
          'gen_ai.completion.0.content': 'Rain.',
          'gen_ai.usage.prompt_tokens': 5,
        },
        { scope, parent: 'Received Proxy Server Request', at: 5, lasts: 40 },
      ),
      buildSpan(
        'raw_gen_ai_request',
        { 'llm.openai.messages': '[{"role": "user", "content": "Weather?"}]' },
        { scope, parent: 'litellm_request', at: 6 },
      ),
    ]);
    expect(run).toMatchObject({ userId: 'u', usage: { inputTokens: 5 }, models: ['m'] });
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(answerText(run)).toBe('Rain.');
  });

  it('LiveKit of 2026: attributes of OpenTelemetry beside its own, and a failed tool without a result', () => {
    const scope = 'livekit-agents';
    const run = onlyRun([
      buildSpan(
        'agent_session',
        { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.conversation.id': 'RM_1' },
        { scope, lasts: 200 },
      ),
      buildSpan(
        'agent_turn',
        {
          'lk.pii.user_input': 'Weather?',
          'lk.pii.instructions': 'Be kind.',
          'gen_ai.agent.name': 'weather',
        },
        { scope, parent: 'agent_session', at: 1, lasts: 100 },
      ),
      buildSpan(
        'llm_request',
        {
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'm',
          'gen_ai.input.messages': [
            chatMessage('user', { type: 'blob', modality: 'audio', content: '', transcript: 'Weather?' }),
          ],
          'gen_ai.output.messages': [CALL],
        },
        { scope, parent: 'agent_turn', at: 2 },
      ),
      buildSpan(
        'function_tool',
        {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'get',
          'gen_ai.tool.call.id': '1',
          'gen_ai.tool.call.arguments': { a: 1 },
          'error.type': 'tool_error',
        },
        { scope, parent: 'agent_turn', at: 20 },
      ),
      buildSpan(
        'llm_request 2',
        { 'gen_ai.operation.name': 'chat', 'gen_ai.output.messages': [chatMessage('assistant', 'Sorry.')] },
        { scope, name: 'llm_request', parent: 'agent_turn', at: 40 },
      ),
    ]);
    expect(run).toMatchObject({ agent: 'weather', sessionId: 'RM_1' });
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(listCalls(run)).toEqual([['get', { a: 1 }, expect.stringContaining('fail')]]);
    expect(answerText(run)).toBe('Sorry.');
  });

  it('OpenTelemetry’s OpenAI Agents: a handoff’s span and one of no known kind are no part of a run', () => {
    const scope = 'opentelemetry.instrumentation.openai_agents';
    const run = onlyRun([
      agentSpan('weather', {}, { scope, name: 'invoke_agent weather', lasts: 99 }),
      chatSpan('c1', { input: QUESTION, output: ANSWER }, { scope, parent: 'weather', at: 1 }),
      buildSpan('unknown', {}, { scope, parent: 'weather', at: 20 }),
      buildSpan('agent_handoff other', {}, { scope, parent: 'weather', at: 30 }),
    ]);
    expect(run).toMatchObject({ agent: 'weather', subRuns: [] });
    expect(answerText(run)).toBe('Rain.');
  });

  it('Google ADK with OpenTelemetry’s messages: roles without a name, and files under further keys', () => {
    const scope = 'gcp.vertex.agent';
    const run = onlyRun([
      agentSpan('weather', {}, { scope, name: 'invoke_agent weather', lasts: 99 }),
      buildSpan(
        'generate_content m',
        {
          'gen_ai.operation.name': 'generate_content',
          'gen_ai.request.model': 'm',
          'gen_ai.input.messages': [
            chatMessage('user', 'Weather?', { type: 'blob', mime_type: 'image/png', data: 'AAAA' }),
            { role: 'model', parts: [{ type: 'tool_call', id: 'get_0', name: 'get', arguments: { a: 1 } }] },
            { role: '', parts: [{ type: 'tool_call_response', id: 'get_0', response: { ok: true } }] },
          ],
          'gen_ai.output.messages': [{ ...(ANSWER as object), finish_reason: '' }],
        },
        { scope, parent: 'weather', at: 1 },
      ),
    ]);
    expect(
      run.input.inputMessages.flatMap((message) => message.content.parts.map((part) => part.type)),
    ).toEqual(['text', 'file']);
    expect(listCalls(run)).toEqual([['get', { a: 1 }, { ok: true }]]);
    expect(answerText(run)).toBe('Rain.');
  });

  it('Gemini CLI: the surroundings before the first question are no words of the user', () => {
    const said = (...texts: string[]) => ({ role: 'user', parts: texts.map((text) => ({ text })) });
    const run = onlyRun([
      buildSpan(
        'llm_call',
        {
          'gen_ai.operation.name': 'llm_call',
          'gen_ai.request.model': 'm',
          'gen_ai.system_instructions': '"Be kind."',
          'gen_ai.input.messages': [said('<session_context>\nlinux\n</session_context>', 'Weather?')],
          'gen_ai.output.messages': [{ role: 'model', parts: [{ text: 'Rain.' }] }],
        },
        { scope: 'gemini-cli' },
      ),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(run.input.systemMessages.map(({ content }) => content)).toEqual([
      'Be kind.',
      expect.stringContaining('linux'),
    ]);
  });

  it('Latitude: a transfer of the OpenAI Agents SDK, and steps around it', () => {
    const scope = 'so.latitude.instrumentation.openai-agents';
    const kind = (name: string) => ({ 'latitude.span.kind': `agents.${name}` });
    const agent = (id: string) => ({ ...kind('agent'), 'openai.agents.name': id });
    const below = (parent: string, at: number) => ({ scope, parent, at });
    const { runs } = buildReading([
      buildSpan('trace', { ...kind('trace'), 'openai.agents.group_id': 's' }, { scope, lasts: 99 }),
      buildSpan('front', agent('front'), { ...below('trace', 1), lasts: 40 }),
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'transfer_to_depot', {}) }, below('front', 2)),
      buildSpan('handoff', { ...kind('handoff'), 'openai.agents.handoff.to': 'depot' }, below('front', 20)),
      buildSpan('depot', agent('depot'), { ...below('trace', 50), lasts: 40 }),
      chatSpan('c2', { input: QUESTION, output: ANSWER }, below('depot', 60)),
    ]);
    expect(runs).toMatchObject([{ sessionId: 's' }]);
    expect(runs.flatMap((run) => invocationParts(run.output))).toMatchObject([
      { handoff: true, toolInvocation: { toolCallId: '1', toolName: 'transfer_to_depot' } },
    ]);
    expect(runs.map(answerText)).toEqual(['Rain.']);
  });

  it('BeeAI: an event with a span of its own is no agent', () => {
    const scope = 'openinference.instrumentation.beeai';
    const kind = { 'openinference.span.kind': 'AGENT' };
    const run = onlyRun([
      buildSpan(
        'weather',
        { ...kind, 'metadata.class_name': 'Agent', 'input.value': 'Weather?', 'output.value': 'Rain.' },
        { scope, lasts: 99 },
      ),
      buildSpan(
        'final_answer',
        { ...kind, 'metadata.path': 'agent.requirement.final_answer', 'input.value': { delta: 'Rain.' } },
        { scope, parent: 'weather', at: 50 },
      ),
    ]);
    expect(run.subRuns).toEqual([]);
    expect(answerText(run)).toBe('Rain.');
  });

  it('Model Context Protocol: the server’s side of a call is no second call', () => {
    const served = buildSpan(
      'tools/call get',
      { 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get' },
      { scope: 'mcp-python-sdk', parent: 'weather', at: 30 },
    );
    const run = onlyRun([
      agentSpan('weather', {}, { lasts: 99 }),
      chatSpan(
        'c1',
        { input: QUESTION, output: toolCall('1', 'mcp__s__get', { a: 1 }) },
        { parent: 'weather', at: 1 },
      ),
      toolSpan(
        'mcp__s__get',
        { id: '1', name: 'mcp__s__get', result: [{ type: 'text', text: 'rain' }] },
        { parent: 'weather', at: 20, lasts: 30 },
      ),
      { ...served, kind: 'Server' },
      chatSpan('c2', { input: QUESTION, output: ANSWER }, { parent: 'weather', at: 60 }),
    ]);
    expect(listCalls(run)).toEqual([['mcp__s__get', { a: 1 }, 'rain']]);
  });

  it('Anthropic’s client and its API, which both tell of one call', () => {
    const told = {
      input: [QUESTION],
      output: [ANSWER],
      attributes: { 'gen_ai.response.id': 'msg_1', 'gen_ai.usage.input_tokens': 5 },
    };
    const run = onlyRun([
      chatSpan('client', told, { scope: 'anthropic', lasts: 50 }),
      chatSpan('server', told, { scope: 'anthropic-api', parent: 'client', at: 1, lasts: 40 }),
    ]);
    expect(run.usage.inputTokens).toBe(5);
    expect(run.output).toHaveLength(1);
  });
});

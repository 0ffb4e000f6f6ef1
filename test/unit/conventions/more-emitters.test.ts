import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/traces/read-traces.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { agentSpan, buildSpan, buildTrace, chatSpan } from '../../support/builders/spans.ts';
import {
  answerText,
  invocationParts,
  textOfMessage,
  listCalls,
  onlyRun,
} from '../../support/recordings/facts.ts';

function questionText(run: AgentRun): string {
  return run.input.inputMessages.map(textOfMessage).join('\n');
}

describe('Gemini CLI', () => {
  const scope = 'gemini-cli';
  const modelCall = (id: string, input: unknown, output: unknown, at = 0): Span =>
    buildSpan(
      id,
      {
        'gen_ai.operation.name': 'llm_call',
        'gen_ai.input.messages': input,
        'gen_ai.output.messages': output,
      },
      { scope, at },
    );
  const question = { role: 'user', parts: [{ text: 'Where?' }] };
  const call = { functionCall: { id: '1', name: 'find', args: { n: 1 } } };
  const tool = (outcome: object): Span[] => [
    buildSpan('schedule', { 'gen_ai.operation.name': 'schedule_tool_calls' }, { scope, at: 20 }),
    buildSpan(
      'tool',
      {
        'gen_ai.operation.name': 'tool_call',
        'gen_ai.tool.name': 'find',
        'gen_ai.tool.call_id': '1',
        'gen_ai.input.messages': { callId: '1', name: 'find', args: { n: 1 } },
        'gen_ai.output.messages': outcome,
      },
      { scope, parent: 'schedule', at: 21 },
    ),
  ];

  it('joins the pieces of a streamed answer, thoughts apart', () => {
    const pieces = [
      { role: 'model', parts: [{ text: 'Hm. ', thought: true }] },
      { role: 'model', parts: [{ text: 'Yes.', thought: true }] },
      { role: 'model', parts: [{ text: 'In ' }] },
      { role: 'model', parts: [{ text: 'Hamburg.' }] },
    ];
    const run = onlyRun([modelCall('c1', [question], pieces)]);
    expect(run.output[0]?.content.parts).toMatchObject([
      { type: 'reasoning', reasoning: 'Hm. Yes.' },
      { type: 'text', text: 'In Hamburg.' },
    ]);
  });

  it.each([
    [{ status: 'error', response: { error: { message: 'no access' } } }, 'no access'],
    [{ status: 'cancelled', response: { error: null } }, 'call'],
    [
      { status: 'success', response: { responseParts: [{ functionResponse: { response: { ok: 1 } } }] } },
      { ok: 1 },
    ],
  ])(
    'reads the outcome of a tool below a step that stands beside the model calls: %j',
    (outcome, expected) => {
      const run = onlyRun([modelCall('c1', [question], { role: 'model', parts: [call] }), ...tool(outcome)]);
      expect(listCalls(run)).toEqual([['find', { n: 1 }, expected]]);
    },
  );

  it('reads a value that was cut off as far as it goes, and warns', () => {
    const cut = '[{"role":"user","parts":[{"text":"Where is P...[TRUNCATED: original length 12000]';
    const run = onlyRun([modelCall('c1', cut, { role: 'model', parts: [{ text: 'In Hamburg.' }] })]);
    expect(questionText(run)).toBe('Where is P');
    expect(run.warnings).toMatchObject([
      { code: 'truncated', detail: expect.stringContaining('cut off by its emitter') },
    ]);
  });

  it('reads a sub-agent with its parameters and its result', () => {
    const run = onlyRun([
      buildSpan(
        'sub',
        {
          'gen_ai.operation.name': 'agent_call',
          'gen_ai.agent.name': 'finder',
          'gen_ai.input.messages': { query: 'Where?' },
          'gen_ai.output.messages': { llmContent: [{ text: 'In Hamburg.' }] },
        },
        { scope },
      ),
    ]);
    expect(run).toMatchObject({ agent: 'finder' });
    expect(questionText(run)).toBe('Where?');
    expect(answerText(run)).toBe('In Hamburg.');
  });

  it('takes a call that returns embeddings for no model call', () => {
    expect(readTrace(buildTrace([modelCall('c1', [], { embeddings: [] })])).runs).toEqual([]);
  });
});

describe('Google GenAI', () => {
  const tool = (attributes: object): AgentRun =>
    onlyRun([
      chatSpan('c1', { input: 'Where?', output: 'In Hamburg.' }, { lasts: 50 }),
      buildSpan(
        'find',
        { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'find', ...attributes },
        { scope: 'opentelemetry.instrumentation.google_genai', parent: 'c1', at: 5 },
      ),
    ]);

  it('puts the parameters of a tool together, each by its type', () => {
    const run = tool({
      'code.function.parameters.number.type': 'str',
      'code.function.parameters.number.value': '204',
      'code.function.parameters.count.type': 'int',
      'code.function.parameters.count.value': '2',
      'code.function.parameters.args[0].value': '{"a":1}',
      'code.function.return.value': '{"city":"Hamburg"}',
    });
    expect(listCalls(run)).toEqual([
      ['find', { number: '204', count: 2, 'args[0]': { a: 1 } }, { city: 'Hamburg' }],
    ]);
  });

  it('puts a tool inside a model call before the answer of the call', () => {
    const run = tool({ 'code.function.return.value': 'Hamburg' });
    expect(run.output[0]?.content.parts.map(({ type }) => type)).toEqual([
      'tool-invocation',
      'step-start',
      'text',
    ]);
  });
});

describe('OpenAI Agents, OpenTelemetry’s own', () => {
  const scope = 'opentelemetry.instrumentation.openai_agents';
  const text = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });

  it('binds a transfer to the call whose name ends with the target', () => {
    const printed =
      "ResponseFunctionToolCall(arguments='{}', call_id='1', name='escalate_to_billing', type='function_call', id='fc')";
    const run = onlyRun([
      agentSpan('front', {}, { scope, lasts: 50 }),
      buildSpan('turn', { 'gen_ai.operation.name': 'unknown' }, { scope, parent: 'front', lasts: 40 }),
      chatSpan(
        'c1',
        { input: [text('user', 'Where?')], output: [text('assistant', printed)] },
        { scope, parent: 'turn', at: 1 },
      ),
      buildSpan(
        'agent_handoff',
        { 'gen_ai.operation.name': 'agent_handoff', 'gen_ai.handoff.to_agent': 'billing' },
        { scope, parent: 'turn', at: 20 },
      ),
    ]);
    expect(invocationParts(run.output)).toMatchObject([
      { toolInvocation: { toolName: 'escalate_to_billing' }, handoff: true },
    ]);
  });

  it('takes the word that replaces hidden content for a placeholder', () => {
    const run = onlyRun([
      chatSpan(
        'c1',
        { input: [text('user', 'readacted')], output: [text('assistant', 'readacted')] },
        { scope },
      ),
    ]);
    expect(run.notScorable?.code).toBe('redacted');
    expect(run.notScorable?.detail).toContain('OTEL_INSTRUMENTATION_OPENAI_AGENTS_CAPTURE_CONTENT');
  });
});

describe('BeeAI', () => {
  const scope = 'openinference.instrumentation.beeai';
  const event = (id: string, at: number, parent: string, more: object): Span =>
    buildSpan(
      id,
      { 'openinference.span.kind': 'AGENT', target: 'agent.react.update', ...more },
      { scope, parent, at },
    );

  it('reads the states of a call in one iteration as one call, and calls of two iterations as two', () => {
    const run = onlyRun([
      buildSpan(
        'bee',
        { 'openinference.span.kind': 'AGENT', 'input.value': 'Where?', 'output.value': 'Done.' },
        { scope, lasts: 99 },
      ),
      ...[1, 2].flatMap((turn) => [
        event(`iteration-${turn}`, turn * 10, 'bee', { target: 'groupId' }),
        event(`u1-${turn}`, turn * 10 + 1, `iteration-${turn}`, {
          'tool.name': 'find',
          'tool.parameters': 'null',
        }),
        event(`u2-${turn}`, turn * 10 + 2, `iteration-${turn}`, {
          'tool.name': 'find',
          'tool.parameters': `{"n":${turn}}`,
          'output.value': 'ok',
        }),
        event(`u3-${turn}`, turn * 10 + 3, `iteration-${turn}`, { thought: 'Next.' }),
      ]),
    ]);
    expect(listCalls(run)).toEqual([
      ['find', { n: 1 }, 'ok'],
      ['find', { n: 2 }, 'ok'],
    ]);
    expect(run.subRuns).toEqual([]);
  });
});

describe('TruLens', () => {
  it('reads tools with the arguments of their functions, and leaves evaluations out', () => {
    const span = (id: string, type: string, more: object, at: number): Span =>
      buildSpan(
        id,
        { 'ai.observability.span_type': type, ...more },
        { scope: 'trulens.otel', at, ...(at === 0 ? { lasts: 90 } : { parent: 'root' }) },
      );
    const run = onlyRun([
      span(
        'root',
        'record_root',
        {
          'ai.observability.record_root.input': 'Where?',
          'ai.observability.record_root.output': 'In Hamburg.',
        },
        0,
      ),
      span(
        'find',
        'tool',
        { 'ai.observability.call.kwargs.n': 1, 'ai.observability.call.return': 'Hamburg' },
        5,
      ),
      span('relevance', 'eval', { 'ai.observability.call.return': '0.9' }, 30),
    ]);
    expect(listCalls(run)).toEqual([['find', { n: 1 }, 'Hamburg']]);
    expect(answerText(run)).toBe('In Hamburg.');
  });
});

describe('text completions in OpenInference', () => {
  const completion = (attributes: object): AgentRun =>
    onlyRun([buildSpan('c1', { 'openinference.span.kind': 'LLM', ...attributes })]);

  it.each([
    ['a list', { 'llm.prompts': ['Where?', 'Who?'], 'output.value': 'In Hamburg.' }],
    [
      'flattened texts',
      { 'llm.prompts.0.prompt.text': 'Where?', 'llm.choices.0.completion.text': 'In Hamburg.' },
    ],
    [
      'the raw response',
      { 'llm.prompts': ['Where?'], 'output.value': { choices: [{ index: 0, text: 'In Hamburg.' }] } },
    ],
  ])('are read from %s', (_, attributes) => {
    const run = completion(attributes);
    expect(questionText(run)).toBe('Where?');
    expect(answerText(run)).toBe('In Hamburg.');
  });
});

it('LlamaIndex’s query is a text, or an object with the text', () => {
  const query = (input: unknown): string =>
    questionText(
      onlyRun([
        buildSpan('engine', {
          'traceloop.span.kind': 'workflow',
          'traceloop.entity.input': input,
          'traceloop.entity.output': { response: 'In Hamburg.' },
        }),
      ]),
    );
  expect(query({ str_or_query_bundle: 'Where?' })).toBe('Where?');
  expect(query({ query_bundle: { query_str: 'Where?', embedding: [1] } })).toBe('Where?');
  expect(query({ query: { query_str: 'Where?' } })).toBe('Where?');
});

it('Latitude’s instructions have a dot in their name', () => {
  const attributes = { 'gen_ai.system.instructions': [{ type: 'text', content: 'Be kind.' }] };
  const run = onlyRun([chatSpan('c1', { input: 'Hi?', output: 'Hi.', attributes })]);
  expect(run.input.systemMessages.map(({ content }) => content)).toEqual(['Be kind.']);
});

it.each([
  ['OpenInference', { 'openinference.span.kind': 'TOOL', 'tool.name': 'find' }, 'input.value'],
  [
    'OpenTelemetry',
    { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'find' },
    'gen_ai.tool.call.arguments',
  ],
])('%s: arguments of a tool that Python printed are its arguments', (_, attributes, key) => {
  const run = onlyRun([
    agentSpan('agent', {}, { lasts: 90 }),
    chatSpan('c1', { output: 'Hi.' }, { parent: 'agent', at: 30 }),
    buildSpan(
      'find',
      { ...attributes, [key]: "{'number': 'P-204', 'express': False}" },
      { parent: 'agent', at: 1 },
    ),
  ]);
  expect(listCalls(run)).toEqual([['find', { number: 'P-204', express: false }, 'call']]);
});

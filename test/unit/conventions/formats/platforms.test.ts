import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../src/conventions/traces/read-traces.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import {
  invocations,
  answerText,
  invocationParts,
  textOfMessage,
  onlyRun,
} from '../../../support/recordings/facts.ts';
import { buildSpan, buildTrace } from '../../../support/builders/spans.ts';

const MESSAGES = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'Weather?' },
];
const CALL = { id: '1', type: 'function', function: { name: 'get', arguments: '{"a":1}' } };
const ASKED = { role: 'assistant', content: null, tool_calls: [CALL] };

/** The same story whichever platform tells it. */
const STORY = {
  system: ['Be kind.'],
  input: ['Weather?'],
  calls: [{ toolCallId: '1', toolName: 'get', args: { a: 1 }, state: 'result', result: { ok: true } }],
  answer: 'Rain.',
};

function readStory(spans: Span[]): unknown {
  const run = onlyRun(spans);
  return {
    agent: run.agent,
    system: run.input.systemMessages.map(({ content }) => content),
    input: run.input.inputMessages.map(textOfMessage),
    calls: invocations(run),
    answer: answerText(run),
    usage: run.usage.inputTokens,
    models: run.models,
    session: run.sessionId,
  };
}

describe('platforms that put content into attributes of their own', () => {
  it('Flue: workflows, turns and tools', () => {
    const turn = (id: string, input: unknown, output: unknown, at: number): Span =>
      buildSpan(
        id,
        {
          'flue.turn.purpose': 'agent',
          'flue.session.name': 's',
          'gen_ai.operation.name': 'chat',
          'gen_ai.request.model': 'm',
          'gen_ai.usage.input_tokens': 5,
          'flue.turn.input': { systemPrompt: 'Be kind.', messages: input },
          'flue.turn.output': output,
        },
        { parent: 'flue.operation prompt', at },
      );
    const asked = { role: 'user', content: [{ type: 'text', text: 'Weather?' }] };
    const called = {
      role: 'assistant',
      content: [{ type: 'toolCall', id: '1', name: 'get', arguments: { a: 1 } }],
    };
    const told = {
      role: 'toolResult',
      toolCallId: '1',
      toolName: 'get',
      content: [{ type: 'text', text: '{"ok":true}' }],
      isError: false,
    };
    const rain = { role: 'assistant', content: [{ type: 'text', text: 'Rain.' }] };
    const spans = [
      buildSpan(
        'flue.workflow weather',
        {
          'flue.workflow.name': 'weather',
          'flue.workflow.payload': { question: 'Weather?' },
          'flue.workflow.result': 'Rain.',
        },
        { lasts: 99 },
      ),
      buildSpan(
        'flue.operation prompt',
        { 'flue.operation.kind': 'prompt', 'flue.operation.result': 'Rain.' },
        { parent: 'flue.workflow weather', lasts: 90 },
      ),
      turn('t1', [asked], called, 1),
      buildSpan(
        'flue.tool get',
        {
          'flue.tool.name': 'get',
          'flue.tool.call_id': '1',
          'flue.tool.arguments': { a: 1 },
          'flue.tool.result': { ok: true },
        },
        { parent: 't1', at: 20 },
      ),
      turn('t2', [asked, called, told], rain, 40),
      buildSpan(
        'compaction',
        { 'flue.turn.purpose': 'compaction', 'flue.turn.output': rain, 'gen_ai.operation.name': 'chat' },
        { parent: 'flue.operation prompt', at: 60 },
      ),
    ];
    expect(readStory(spans)).toEqual({ ...STORY, agent: 'weather', usage: 10, models: ['m'], session: 's' });
  });

  it('VoltAgent: agents, calls of models, and tools, whose children inherit the entity', () => {
    const entity = { 'entity.type': 'agent', 'entity.id': 'weather', 'entity.name': 'weather' };
    const spans = [
      buildSpan(
        'root',
        {
          ...entity,
          'voltagent.operation_id': 'o',
          'voltagent.conversation_id': 's',
          'agent.messages': MESSAGES,
          output: 'Rain.',
        },
        { lasts: 99 },
      ),
      buildSpan(
        'llm:streamText',
        {
          ...entity,
          'span.type': 'llm',
          'llm.messages': MESSAGES,
          'ai.model.name': 'm',
          output: 'Rain.',
          'usage.prompt_tokens': 5,
        },
        { parent: 'root', at: 1, lasts: 80 },
      ),
      buildSpan(
        'tool.execution:get',
        {
          ...entity,
          'span.type': 'tool',
          'tool.name': 'get',
          'tool.call.id': '1',
          input: { a: 1 },
          output: { ok: true },
        },
        { parent: 'root', at: 20 },
      ),
      buildSpan('memory.read', { ...entity, 'span.type': 'memory' }, { parent: 'root', at: 2 }),
    ];
    expect(readStory(spans)).toEqual({ ...STORY, agent: 'weather', usage: 5, models: ['m'], session: 's' });
  });

  it('Braintrust: tasks, model calls and tools as JSON, and scores left out', () => {
    const of = (id: string, type: string, values: Record<string, unknown>, at: number): Span =>
      buildSpan(
        id,
        {
          'braintrust.span_attributes': { type },
          ...Object.fromEntries(Object.entries(values).map(([key, value]) => [`braintrust.${key}`, value])),
        },
        { parent: id === 'weather' ? '' : 'weather', at, lasts: id === 'weather' ? 99 : 10 },
      );
    const call = (id: string, input: unknown, message: unknown, at: number): Span =>
      of(
        id,
        'llm',
        {
          input_json: input,
          output_json: [{ index: 0, message }],
          metadata: { model: 'm', provider: 'openai' },
          metrics: { prompt_tokens: 5, completion_tokens: 1, tokens: 6 },
        },
        at,
      );
    const result = { role: 'tool', tool_call_id: '1', content: '{"ok":true}' };
    const root = of('weather', 'task', { input_json: { question: 'Weather?' }, output_json: 'Rain.' }, 0);
    const spans = [
      { ...root, parentSpanId: '' },
      call('c1', MESSAGES, ASKED, 1),
      of('get', 'tool', { input_json: { a: 1 }, output_json: { ok: true } }, 20),
      call('c2', [...MESSAGES, ASKED, result], { role: 'assistant', content: 'Rain.' }, 40),
      of('judge', 'score', { input_json: 'x', output_json: 'y' }, 60),
    ];
    expect(readStory(spans)).toMatchObject({ ...STORY, usage: 10, models: ['m'], session: null });
  });

  it('Laminar: functions with input and output, and the error of a tool', () => {
    const error = { type: 'tool', status: 'error', name: 'get', tool_call_id: '1', content: 'no such city' };
    const spans = [
      buildSpan(
        'weather',
        {
          'lmnr.span.type': 'DEFAULT',
          'lmnr.span.input': { question: 'Weather?' },
          'lmnr.span.output': { answer: 'I do not know.' },
        },
        { lasts: 99 },
      ),
      buildSpan(
        'get',
        { 'lmnr.span.type': 'TOOL', 'lmnr.span.input': { a: 1 }, 'lmnr.span.output': error },
        { parent: 'weather', at: 20 },
      ),
      buildSpan(
        'c1',
        { 'gen_ai.operation.name': 'chat', 'lmnr.span.type': 'LLM' },
        { parent: 'weather', at: 1 },
      ),
    ];
    expect(readStory(spans)).toMatchObject({
      input: ['Weather?'],
      calls: [{ toolName: 'get', args: { a: 1 }, errorText: 'no such city' }],
      answer: 'I do not know.',
    });
  });

  it('Sentry: the content of messages under names of its own', () => {
    const chat = { 'sentry.op': 'gen_ai.chat', 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };
    const spans = [
      buildSpan(
        'agent',
        { 'sentry.op': 'gen_ai.invoke_agent', 'gen_ai.agent.name': 'weather' },
        { lasts: 99 },
      ),
      buildSpan(
        'c1',
        { ...chat, 'gen_ai.request.messages': MESSAGES, 'gen_ai.response.tool_calls': [CALL] },
        { parent: 'agent', at: 1 },
      ),
      buildSpan(
        'get',
        {
          'sentry.op': 'gen_ai.execute_tool',
          'gen_ai.tool.name': 'get',
          'gen_ai.tool.input': { a: 1 },
          'gen_ai.tool.output': { ok: true },
        },
        { parent: 'agent', at: 20 },
      ),
      buildSpan(
        'c2',
        { ...chat, 'gen_ai.usage.input_tokens': 5, 'gen_ai.response.text': ['Rain.', 'Sun.'] },
        { parent: 'agent', at: 40 },
      ),
    ];
    expect(readStory(spans)).toEqual({ ...STORY, agent: 'weather', usage: 5, models: ['m'], session: null });
  });

  it('OpenRouter: the prompt and the completion as one JSON value each', () => {
    const spans = [
      buildSpan(
        'call',
        {
          'openrouter.source': 'broadcast',
          'gen_ai.request.model': 'm',
          'gen_ai.prompt': { messages: MESSAGES },
          'gen_ai.completion': { completion: 'Rain.', rawRequest: {} },
        },
        { resource: { 'service.name': 'openrouter' } },
      ),
    ];
    expect(readStory(spans)).toMatchObject({ ...STORY, calls: [], models: ['m'] });
  });

  it('ignores an entity that is not an agent', () => {
    const entity = { 'entity.type': 'host', 'entity.id': 'h1', input: 'x', output: 'y' };
    expect(readTrace(buildTrace([buildSpan('GET /', entity)]))).toMatchObject({
      runs: [],
      notUnderstood: [],
    });
  });

  it.each(['flue.turn.id', 'voltagent.version'])('reports a span of which only %s is known', (key) => {
    const { notUnderstood } = readTrace(buildTrace([buildSpan('thing', { [key]: 'x' })]));
    expect(notUnderstood).toMatchObject([{ name: 'thing', attributes: [key] }]);
  });

  it('Logfire: opens the arguments of Anthropic’s calls, and no parameter with the same name', () => {
    const story = (scope: string, args: string): unknown => {
      const calls = [{ id: '1', function: { name: 'get', arguments: args } }];
      const attributes = {
        request_data: { messages: [{ role: 'user', content: 'Weather?' }] },
        response_data: { message: { role: 'assistant', content: null, tool_calls: calls } },
      };
      const run = onlyRun([buildSpan('c1', attributes, { scope })]);
      return invocationParts(run.output).map((part) => part.toolInvocation.args);
    };
    expect(story('logfire.anthropic', '{"input":{"a":1}}')).toEqual([{ a: 1 }]);
    expect(story('logfire.openai', '{"input":{"a":1}}')).toEqual([{ input: { a: 1 } }]);
  });
});

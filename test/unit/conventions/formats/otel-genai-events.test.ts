import { describe, expect, it } from 'vitest';
import type { LogRecord, SpanEvent } from '../../../../src/domain/trace/span.ts';
import {
  invocations,
  answerText,
  invocationParts,
  textOfMessage,
  onlyRun,
} from '../../../support/recordings/facts.ts';
import { agentSpan, chatSpan, buildLog, buildSpan, toolSpan } from '../../../support/builders/spans.ts';

function buildEvent(name: string, attributes: Record<string, string>): SpanEvent {
  return { name, timeUnixNano: 0n, attributes: new Map(Object.entries(attributes)) };
}

function logBody(name: string, body: unknown, at: number): LogRecord {
  return { ...buildLog('c1', name, {}, at), body: JSON.stringify(body) };
}

const CALL = { id: '1', type: 'function', function: { name: 'get', arguments: '{"a":1}' } };

describe('messages as events', () => {
  it('reads log records with their bodies, in order of time', () => {
    const run = onlyRun(
      [chatSpan('c1', {})],
      [
        logBody('gen_ai.choice', { index: 0, finish_reason: 'stop', message: { content: 'Rain.' } }, 9),
        logBody('gen_ai.system.message', { content: 'Be kind.' }, 1),
        logBody('gen_ai.user.message', { content: 'Weather?' }, 2),
        logBody('gen_ai.assistant.message', { tool_calls: [CALL] }, 3),
        logBody('gen_ai.tool.message', { id: '1', content: '{"ok":true}' }, 4),
      ],
    );
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(invocations(run)).toEqual([
      { toolCallId: '1', toolName: 'get', args: { a: 1 }, state: 'result', result: { ok: true } },
    ]);
    expect(answerText(run)).toBe('Rain.');
    expect(run.conventions).toContain('otel-genai-events');
  });

  it.each([
    ['inside the message', { message: { content: 'On it.', tool_calls: [CALL] } }],
    ['beside the message', { message: { content: 'On it.' }, tool_calls: [CALL] }],
  ])('reads tool calls %s of a choice', (_place, body) => {
    const run = onlyRun([chatSpan('c1', {})], [logBody('gen_ai.choice', body, 1)]);
    expect(run.output[0]?.content.parts.map((part) => part.type)).toEqual(['text', 'tool-invocation']);
  });

  it('takes the first of several choices', () => {
    const choice = (index: number): LogRecord =>
      logBody('gen_ai.choice', { index, message: { content: `${index}` } }, 5 - index);
    expect(answerText(onlyRun([chatSpan('c1', {})], [choice(1), choice(0)]))).toBe('0');
  });

  it('reads span events with blocks as JSON text, and a tool’s arguments and result from its span', () => {
    const events = [
      buildEvent('gen_ai.user.message', { content: '[{"text":"Weather?"}]' }),
      buildEvent('gen_ai.choice', {
        message: '[{"toolUse":{"toolUseId":"1","name":"get","input":{"a":1}}}]',
      }),
    ];
    const toolEvents = [
      buildEvent('gen_ai.tool.message', { content: '{"a":1}', id: '1' }),
      buildEvent('gen_ai.choice', { message: '[{"json":{"ok":true}}]', id: '1' }),
    ];
    const run = onlyRun([
      agentSpan('agent', {}, { lasts: 50 }),
      chatSpan('c1', {}, { parent: 'agent', events }),
      toolSpan('t1', { name: 'get' }, { parent: 'agent', at: 20, events: toolEvents }),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(run.context).toEqual(['{"ok":true}']);
  });

  it('leaves a text that only looks like JSON a text', () => {
    const run = onlyRun([
      chatSpan('c1', {}, { events: [buildEvent('gen_ai.user.message', { content: '{"city":"Paris"}' })] }),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['{"city":"Paris"}']);
  });

  it('does not double messages that the span carries as attributes too', () => {
    const span = chatSpan('c1', { input: 'Weather?', output: 'Rain.' });
    const run = onlyRun(
      [span],
      [
        logBody('gen_ai.user.message', { content: 'Weather?' }, 1),
        logBody('gen_ai.choice', { message: { content: 'Rain.' } }, 2),
      ],
    );
    expect(run.input.inputMessages).toHaveLength(1);
    expect(run.output[0]?.content.parts).toEqual([{ type: 'text', text: 'Rain.' }]);
  });

  it('makes no messages of events without content', () => {
    const run = onlyRun(
      [chatSpan('c1', {})],
      [logBody('gen_ai.user.message', {}, 1), logBody('gen_ai.choice', { index: 0, message: {} }, 2)],
    );
    expect([run.input.inputMessages, run.output, run.notScorable?.code]).toEqual([
      [],
      [],
      'no_content_captured',
    ]);
  });

  it('takes an error text that the model was given for a failed call when there is no tool span', () => {
    const run = onlyRun(
      [chatSpan('c1', {})],
      [
        logBody('gen_ai.user.message', { content: 'Weather?' }, 1),
        logBody('gen_ai.assistant.message', { tool_calls: [CALL] }, 2),
        logBody('gen_ai.tool.message', { id: '1', content: 'Error: backend down' }, 3),
        logBody('gen_ai.choice', { message: { content: 'Sorry.' } }, 4),
      ],
    );
    expect(invocations(run)).toMatchObject([{ state: 'output-error', errorText: 'Error: backend down' }]);
  });

  it('reads the log records into which Bedrock AgentCore moves a span’s events', () => {
    const scope = 'strands.telemetry.tracer';
    const record = (span: string, body: unknown): LogRecord => ({
      ...buildLog(span, scope, {}),
      scopeName: scope,
      body: JSON.stringify(body),
    });
    const asked = {
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: { content: '[{"text":"Weather?"}]' } },
      ],
    };
    const called = '[{"toolUse":{"toolUseId":"1","name":"get","input":{"a":1}}}]';
    const run = onlyRun(
      [
        agentSpan('agent', {}, { scope, lasts: 99 }),
        buildSpan('c1', { 'gen_ai.operation.name': 'chat' }, { scope, parent: 'agent', at: 1 }),
        toolSpan('get', { name: 'get' }, { scope, parent: 'agent', at: 20 }),
        buildSpan('c2', { 'gen_ai.operation.name': 'chat' }, { scope, parent: 'agent', at: 40 }),
      ],
      [
        record('c1', {
          input: asked,
          output: {
            messages: [
              { role: 'assistant', content: { message: called, finish_reason: 'tool_use' } },
              { role: 'assistant', content: '[{"toolResult":{"toolUseId":"1"}}]' },
            ],
          },
        }),
        record('get', {
          input: { messages: [{ role: 'tool', content: { content: '{"a":1}', role: 'tool', id: '1' } }] },
          output: {
            messages: [{ role: 'assistant', content: { message: '[{"json":{"ok":true}}]', id: '1' } }],
          },
        }),
        record('c2', {
          input: asked,
          output: {
            messages: [{ role: 'assistant', content: { message: 'Rain.', finish_reason: 'end_turn' } }],
          },
        }),
        { ...record('c2', {}), body: 'cycle ended' },
      ],
    );
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(invocations(run)).toEqual([
      { toolCallId: '1', toolName: 'get', args: { a: 1 }, state: 'result', result: { ok: true } },
    ]);
    expect(answerText(run)).toBe('Rain.');
  });

  it('reads span events whose whole body is one attribute, with capitalised roles: Semantic Kernel, Azure AI', () => {
    const body = (name: string, content: unknown): SpanEvent =>
      buildEvent(name, { 'gen_ai.event.content': JSON.stringify(content) });
    const run = onlyRun([
      buildSpan(
        'c1',
        { 'gen_ai.operation.name': 'chat' },
        {
          scope: 'Microsoft.SemanticKernel.Diagnostics',
          events: [
            body('gen_ai.user.message', { role: 'User', content: 'Weather?' }),
            body('gen_ai.choice', {
              index: 0,
              message: { role: 'Assistant', content: 'Rain.' },
              finish_reason: 'Stop',
              tool_calls: [CALL],
            }),
          ],
        },
      ),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(run.output[0]?.content.parts.map((part) => part.type)).toEqual(['text', 'tool-invocation']);
  });

  it('reads the prompt and the completion on events of one message each: older Semantic Kernel', () => {
    const run = onlyRun([
      buildSpan(
        'c1',
        { 'gen_ai.operation.name': 'chat.completions', 'gen_ai.request.model': 'm' },
        {
          events: [
            buildEvent('gen_ai.content.prompt', {
              'gen_ai.prompt': '[{"role":"user","content":"Weather?"}]',
            }),
            buildEvent('gen_ai.content.completion', {
              'gen_ai.completion': '[{"role":"Assistant","content":"Rain."}]',
            }),
          ],
        },
      ),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(answerText(run)).toBe('Rain.');
  });

  describe('in the record of a span that Bedrock AgentCore emptied', () => {
    const scope = 'opentelemetry.instrumentation.langchain';
    const split = (input: unknown[], output: unknown[]): LogRecord => ({
      ...buildLog('c1', scope, {}),
      scopeName: scope,
      body: JSON.stringify({ input: { messages: input }, output: { messages: output } }),
    });
    const call = { toolUse: { toolUseId: '1', name: 'get', input: {} } };
    const result = { toolResult: { toolUseId: '1', content: [{ text: 'ok' }] } };
    const asked = { role: 'user', content: { content: '[{"text":"Weather?"}]' } };
    const answer = {
      role: 'assistant',
      content: { message: '[{"text":"Rain."}]', finish_reason: 'end_turn' },
    };

    it('a message of the assistant without a reason to finish is history, before the question', () => {
      const past = { role: 'assistant', content: { content: '[{"text":"Hello."}]' } };
      const run = onlyRun([chatSpan('c1', {})], [split([asked], [past, answer])]);
      expect(run.input.rememberedMessages.map(textOfMessage)).toEqual(['Hello.']);
      expect(answerText(run)).toBe('Rain.');
    });

    it('its call stands before the result that answers it', () => {
      const past = { role: 'assistant', content: { content: JSON.stringify([call]) } };
      const told = { role: 'tool', content: { content: JSON.stringify([result]) } };
      const run = onlyRun([chatSpan('c1', {})], [split([asked, told], [past, answer])]);
      expect(invocations(run)).toMatchObject([
        { toolCallId: '1', toolName: 'get', state: 'result', result: 'ok' },
      ]);
    });

    it.each([
      [
        'the messages of an attribute',
        [{ role: 'user', parts: [{ text: 'Weather?' }] }],
        [{ role: 'assistant', content: 'Rain.' }],
      ],
      [
        'what a decorated function got and returned',
        { inputs: { messages: [{ role: 'user', content: 'Weather?' }] }, tags: [] },
        { outputs: { messages: [{ type: 'ai', content: 'Rain.' }] }, kwargs: {} },
      ],
    ])('a plain text is opened as %s', (_, input, output) => {
      const run = onlyRun(
        [chatSpan('c1', {})],
        [
          split(
            [{ role: 'unknown', content: JSON.stringify(input) }],
            [{ role: 'assistant', content: JSON.stringify(output) }],
          ),
        ],
      );
      expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
      expect(run.output[0]?.content.parts).toEqual([{ type: 'text', text: 'Rain.' }]);
    });
  });

  describe('in one list of question and answer, without a choice', () => {
    const user = (content: string) => ({ 'event.name': 'gen_ai.user.message', role: 'user', content });
    const assistant = (more: object) => ({
      'event.name': 'gen_ai.assistant.message',
      role: 'assistant',
      ...more,
    });
    const call = assistant({ tool_calls: [CALL] });
    const result = { 'event.name': 'gen_ai.tool.message', role: 'tool', id: '1', content: '{"ok":true}' };

    it('give what follows the last message of the user as the answer', () => {
      const events = [
        user('Hi.'),
        assistant({ content: 'Hello.' }),
        user('Weather?'),
        assistant({ content: 'Rain.' }),
      ];
      const run = onlyRun([chatSpan('c1', { attributes: { events } })]);
      expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
      expect(run.input.rememberedMessages.map(textOfMessage)).toEqual(['Hi.', 'Hello.']);
      expect(answerText(run)).toBe('Rain.');
    });

    it('give what follows the last result of a tool, and calls without a text', () => {
      const run = onlyRun([
        chatSpan('c1', { attributes: { events: [user('Weather?'), call] } }),
        chatSpan(
          'c2',
          { attributes: { events: [user('Weather?'), call, result, assistant({ content: 'Rain.' })] } },
          { at: 20 },
        ),
      ]);
      expect(run.input.rememberedMessages).toEqual([]);
      expect(invocationParts(run.output).map((part) => part.toolInvocation.result)).toEqual([{ ok: true }]);
      expect(answerText(run)).toBe('Rain.');
    });

    it('give no answer on a failed span', () => {
      const events = [user('Weather?'), assistant({ content: 'It is' })];
      const run = onlyRun([chatSpan('c1', { attributes: { events } }, { error: 'down' })]);
      expect(run.output).toEqual([]);
    });

    it('give the items of hosted tools as calls of the provider, in their place', () => {
      const item = {
        'event.name': 'gen_ai.unknown',
        role: 'unknown',
        data: { type: 'web_search_call', id: 'w' },
      };
      const run = onlyRun([
        chatSpan('c1', { attributes: { events: [user('Weather?'), item, assistant({ content: 'Rain.' })] } }),
      ]);
      expect(run.output[0]?.content.parts.map(({ type }) => type)).toEqual(['tool-invocation', 'text']);
      expect(invocationParts(run.output)[0]).toMatchObject({ providerExecuted: true });
    });

    it('are told apart without names: what has a message is the choice', () => {
      const events = [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: { inline_data: { mime_type: 'image/png', data: 'AAAA' } } },
        { role: 'user', content: 'Weather?' },
        { index: 0, finish_reason: 'STOP', message: { role: 'assistant', content: ['Rain.'] } },
      ];
      const run = onlyRun([chatSpan('c1', { attributes: { events } })]);
      expect(run.input.systemMessages.map(({ content }) => content)).toEqual(['Be kind.']);
      expect(run.input.inputMessages.flatMap(({ content }) => content.parts.map(({ type }) => type))).toEqual(
        ['file', 'text'],
      );
      expect(answerText(run)).toBe('Rain.');
    });
  });
});

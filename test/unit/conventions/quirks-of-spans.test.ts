import { describe, expect, it } from 'vitest';
import { readList } from '../../../src/conventions/attributes.ts';
import { readTraces } from '../../../src/conventions/index.ts';
import { readOutcome } from '../../../src/conventions/messages/payloads.ts';
import { parsePythonRepr } from '../../../src/conventions/messages/printed-items.ts';
import { readMessages, readSystem } from '../../../src/conventions/messages/read-messages.ts';
import { normaliseSpan } from '../../../src/conventions/normalise-span.ts';
import type { SpanFacts } from '../../../src/conventions/normalised-span.ts';
import type { LogRecord } from '../../../src/domain/trace/span.ts';
import { buildSpan, chatMessage, type SpanOptions, toolCall } from '../../support/builders/spans.ts';

/** Quirk: its name, a function that reads the value, and the expected value. */
type Quirk = [quirk: string, actual: () => unknown, expected: unknown];

/** Reads the facts of one span. */
function facts(
  attributes: Record<string, unknown>,
  options: SpanOptions = {},
  logs: LogRecord[] = [],
): SpanFacts {
  return normaliseSpan(buildSpan('s', attributes, options), logs).facts;
}

function parts(value: unknown): unknown[] {
  return readMessages(value, 'user').flatMap((message) => message.parts);
}

const RAIN = [{ type: 'text', text: 'Rain.' }];
const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };

function response(key: string): unknown {
  return { role: 'tool', parts: [{ type: 'tool_call_response', id: '1', [key]: { ok: true } }] };
}

function json(
  key: string,
  value: unknown,
  ids = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
): unknown {
  const attributes = [
    { key: 'gen_ai.operation.name', value: { stringValue: 'chat' } },
    { key: 'gen_ai.request.model', value: { stringValue: 'm' } },
    { key, value },
  ];
  const span = { ...ids, name: 'chat', startTimeUnixNano: '1', endTimeUnixNano: '2', attributes };
  return { resourceSpans: [{ scopeSpans: [{ scope: { name: 's' }, spans: [span] }] }] };
}

function answersIn(request: unknown): string[] {
  return readTraces(request).flatMap(({ runs }) => runs.map((run) => run.output[0]?.content.content ?? ''));
}

/** Values are encoded in many ways. */
const encoding: readonly Quirk[] = [
  [
    'arguments are JSON in JSON',
    () => parts([chatMessage('assistant', toolCall('1', 'get', '{"a":1}'))])[0],
    { type: 'tool-call', id: '1', name: 'get', args: { a: 1 } },
  ],
  [
    'arguments are encoded twice',
    () => parts([chatMessage('assistant', toolCall('1', 'get', '"{\\"a\\":1}"'))])[0],
    { type: 'tool-call', id: '1', name: 'get', args: { a: 1 } },
  ],
  [
    'results stand in wrappers',
    () => [
      readOutcome({
        output: { lc: 1, id: ['x', 'ToolMessage'], kwargs: { content: '{"ok":1}', tool_call_id: '1' } },
      }).value,
      readOutcome({ content: [{ type: 'text', text: 'x' }] }).value,
      readOutcome({ raw_output: { ok: 1 }, is_error: false }).value,
      ...parts([
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: '1',
              toolName: 'get',
              output: { type: 'json', value: { ok: 1 } },
            },
          ],
        },
      ]).map((part) => (part as { result: unknown }).result),
      ...parts([
        { role: 'user', content: [{ toolResult: { toolUseId: '1', content: [{ json: { ok: 1 } }] } }] },
      ]).map((part) => (part as { result: unknown }).result),
    ],
    [{ ok: 1 }, 'x', { ok: 1 }, { ok: 1 }, { ok: 1 }],
  ],
  [
    'plain answers are quoted',
    () => facts({ 'traceloop.span.kind': 'workflow', 'traceloop.entity.output': '"Rain."' }).output,
    RAIN,
  ],
  [
    'the whole request is one text part',
    () =>
      facts(
        {
          ...CHAT,
          'gen_ai.input.messages': [
            chatMessage(
              'user',
              '[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"1","name":"get","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"x"}]',
            ),
          ],
        },
        { scope: '@traceloop/instrumentation-openai' },
      ).input?.map((message) => message.role),
    ['user', 'assistant', 'tool'],
  ],
  [
    'values are Python’s',
    () => parsePythonRepr("{'a': True, 'b': None, 'c': 'it'}"),
    { a: true, b: null, c: 'it' },
  ],
  ['null attributes say nothing', () => answersIn(json('gen_ai.output.messages', {})), ['']],
  [
    'counts are texts or numbers',
    () => [
      facts({ ...CHAT, 'gen_ai.usage.input_tokens': '193' }).usage?.inputTokens,
      facts({ ...CHAT, 'gen_ai.usage.input_tokens': 193 }).usage?.inputTokens,
    ],
    [193, 193],
  ],
  [
    'finish reasons are JSON, a list of words, or one word',
    () =>
      ['["stop"]', 'tool_calls,stop', 'stop'].map(
        (value) => facts({ ...CHAT, 'gen_ai.response.finish_reasons': value }).finishReason,
      ),
    ['stop', 'stop', 'stop'],
  ],
  [
    'tags are JSON, a list of words, or one word',
    () => ['["a","b"]', 'a, b', 'a'].map((value) => readList(new Map([['tags', value]]), 'tags')),
    [['a', 'b'], ['a', 'b'], ['a']],
  ],
  [
    'definitions of tools of any shape are no calls',
    () =>
      ['["{\\"name\\":\\"get\\"}"]', '[{"function":{"name":"get"}}]', '["get"]'].map(
        (value) => facts({ ...CHAT, 'gen_ai.tool.definitions': value }).output,
      ),
    [undefined, undefined, undefined],
  ],
  [
    'instructions are a text, parts, or messages',
    () =>
      [
        'Be brief.',
        [{ type: 'text', content: 'Be brief.' }],
        [chatMessage('system', 'Be brief.')],
        { role: 'system', content: 'Be brief.' },
      ].map(readSystem),
    [['Be brief.'], ['Be brief.'], ['Be brief.'], ['Be brief.']],
  ],
  [
    'quoted instructions',
    () => facts({ ...CHAT, 'gen_ai.system_instructions': '"Be brief."' }).system,
    ['Be brief.'],
  ],
  [
    'messages are an object',
    () => [
      facts({ ...CHAT, 'gen_ai.input.messages': { messages: [chatMessage('user', 'Hi')] } }).input,
      facts({ ...CHAT, 'gen_ai.output.messages': { text: 'Rain.' } }).output,
    ],
    [[{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }], RAIN],
  ],
  [
    'JSON is laid out in lines',
    () =>
      facts({
        ...CHAT,
        'gen_ai.output.messages': JSON.stringify([chatMessage('assistant', 'Rain.')], null, 2),
      }).output,
    RAIN,
  ],
  [
    'JSON is cut off',
    () =>
      normaliseSpan(
        buildSpan('s', {
          ...CHAT,
          'gen_ai.input.messages': JSON.stringify([chatMessage('user', 'Hello')]).slice(0, -8),
        }),
        [],
      ).warnings.map(({ code }) => code),
    ['truncated'],
  ],
  [
    'messages are structured values',
    () =>
      answersIn(
        json('gen_ai.output.messages', {
          arrayValue: {
            values: [
              {
                kvlistValue: {
                  values: [
                    { key: 'role', value: { stringValue: 'assistant' } },
                    { key: 'content', value: { stringValue: 'Rain.' } },
                  ],
                },
              },
            ],
          },
        }),
      ),
    ['Rain.'],
  ],
  [
    'ids are base64',
    () =>
      readTraces(json('a', {}, { traceId: 'CvdlGRbNQ92ESOshHIAxnA==', spanId: 'ASNFZ4mrze8=' })).map(
        ({ traceId }) => traceId,
      ),
    ['0af7651916cd43dd8448eb211c80319c'],
  ],
  [
    'halves of surrogates and zeros are kept in text that is JSON again',
    () =>
      JSON.parse(
        JSON.stringify(
          facts({ ...CHAT, 'gen_ai.output.messages': '[{"role":"assistant","content":"a\\ud83d\\u0000"}]' })
            .output,
        ),
      ),
    [{ type: 'text', text: 'a\ud83d\u0000' }],
  ],
  [
    'names are null, and reasons are spelled in two ways',
    () => {
      const message = {
        ...(chatMessage('assistant', 'Rain.') as object),
        name: null,
        finish_reason: 'tool_call',
      };
      const { finishReason, output } = facts({
        ...CHAT,
        'gen_ai.response.finish_reasons': '["tool_calls"]',
        'gen_ai.output.messages': [message],
      });
      return [finishReason, output];
    },
    ['tool_calls', RAIN],
  ],
  [
    'content is a reference',
    () =>
      ['gen_ai.input.messages_ref', 'gen_ai.output.messages_ref', 'gen_ai.system_instructions_ref'].map(
        (key) => facts({ ...CHAT, [key]: 's3://x' }).contentByReference,
      ),
    [true, true, true],
  ],
];

/** Emitters spell the same fact differently. */
const dialects: readonly Quirk[] = [
  [
    'results are under four names',
    () =>
      ['response', 'result', 'content', 'output']
        .flatMap((key) => parts([response(key)]))
        .map((part) => (part as { result: unknown }).result),
    [{ ok: true }, { ok: true }, { ok: true }, { ok: true }],
  ],
  [
    'reasoning has many names',
    () => [
      ...parts([
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.' },
            { type: 'reasoning', content: 'Hm.' },
            { reasoningContent: { reasoningText: { text: 'Hm.' } } },
            {
              type: 'Microsoft.Extensions.AI.TextReasoningContent',
              content: { text: 'Hm.', protectedData: 'x' },
            },
          ],
        },
      ]),
      ...parts([{ role: 'model', parts: [{ text: 'Hm.', thought: true }] }]),
      ...(facts({
        'openinference.span.kind': 'LLM',
        'llm.output_messages.0.message.contents.0.message_content.type': 'reasoning',
        'llm.output_messages.0.message.contents.0.message_content.text': 'Hm.',
      }).output ?? []),
    ],
    Array.from({ length: 6 }, () => ({ type: 'reasoning', text: 'Hm.' })),
  ],
  [
    'results come under any role',
    () =>
      ['user', 'tool', 'function', ''].map(
        (role) =>
          readMessages([{ role, parts: [{ type: 'tool_call_response', id: '1', result: 'x' }] }], 'user')[0]
            ?.role,
      ),
    ['tool', 'tool', 'tool', 'tool'],
  ],
  [
    'roles have many names',
    () =>
      ['human', 'ai', 'model', 'developer', 'Assistant', 'TOOL'].map(
        (role) => readMessages([{ role, content: 'x' }], 'user')[0]?.role,
      ),
    ['user', 'assistant', 'assistant', 'system', 'assistant', 'tool'],
  ],
  [
    'a choice has its calls beside the message or inside it',
    () => {
      const calls = [{ id: '1', function: { name: 'get', arguments: '{}' } }];
      return [{ tool_calls: calls }, { message: { tool_calls: calls } }].map(
        (body) =>
          facts(CHAT, {
            events: [
              {
                timeUnixNano: 0n,
                name: 'gen_ai.choice',
                attributes: new Map(Object.entries(body).map(([key, value]) => [key, JSON.stringify(value)])),
              },
            ],
          }).output,
      );
    },
    Array.from({ length: 2 }, () => [{ type: 'tool-call', id: '1', name: 'get', args: {} }]),
  ],
  [
    'Strands’ blocks are told by type or by key',
    () =>
      parts([
        {
          role: 'assistant',
          content: [
            { type: 'toolUse', toolUseId: '1', name: 'get', input: {} },
            { toolUse: { toolUseId: '1', name: 'get', input: {} } },
          ],
        },
      ]),
    Array.from({ length: 2 }, () => ({ type: 'tool-call', id: '1', name: 'get', args: {} })),
  ],
  [
    'an event’s name is a field or an attribute',
    () =>
      [
        { eventName: 'gen_ai.choice' },
        { attributes: [{ key: 'event.name', value: { stringValue: 'gen_ai.choice' } }] },
      ].flatMap((named) => {
        const log = {
          traceId: 'a'.repeat(32),
          spanId: 'b'.repeat(16),
          body: { stringValue: '{"message":{"content":"Rain."}}' },
          ...named,
        };
        return answersIn([json('x', {}), { resourceLogs: [{ scopeLogs: [{ logRecords: [log] }] }] }]);
      }),
    ['Rain.', 'Rain.'],
  ],
  [
    'files are blobs with data, or addresses',
    () => [
      ...parts([{ role: 'user', parts: [{ type: 'blob', mime_type: 'image/png', data: 'AAAA' }] }]),
      ...parts([{ role: 'user', parts: [{ file_data: { file_uri: 'gs://x', mime_type: 'image/png' } }] }]),
    ],
    [
      { type: 'file', mimeType: 'image/png', data: 'AAAA' },
      { type: 'file', mimeType: 'image/png', data: 'gs://x' },
    ],
  ],
  [
    'calls stand beside parts',
    () =>
      parts([
        {
          role: 'assistant',
          parts: [{ type: 'text', content: '' }],
          tool_calls: [{ id: '1', function: { name: 'get', arguments: '{}' } }],
        },
      ]),
    [{ type: 'tool-call', id: '1', name: 'get', args: {} }],
  ],
  [
    'content has an index',
    () =>
      facts({ 'openinference.span.kind': 'LLM', 'llm.output_messages.0.message.content.0': 'Rain.' }).output,
    RAIN,
  ],
  [
    'LiveKit’s keys have an old and a new name',
    () =>
      ['lk.response.text', 'lk.pii.response.text'].map(
        (key) => facts({ [key]: 'Rain.' }, { scope: 'livekit-agents', name: 'llm_node' }).output,
      ),
    [RAIN, RAIN],
  ],
  [
    'indexes begin at one, have gaps, and ten comes after nine',
    () =>
      facts({
        'llm.request.type': 'chat',
        'gen_ai.prompt.10.content': 'c',
        'gen_ai.prompt.1.content': 'a',
        'gen_ai.prompt.9.content': 'b',
      }).input?.map((message) => message.parts[0]),
    ['a', 'b', 'c'].map((text) => ({ type: 'text', text })),
  ],
];

/** The value of a key does not have the meaning of its name. */
const identity: readonly Quirk[] = [
  [
    'LangSmith’s session name is a project',
    () =>
      facts({
        'langsmith.span.kind': 'llm',
        'langsmith.trace.session_name': 'project',
        'langsmith.metadata.thread_id': 't1',
      }).session,
    't1',
  ],
  [
    'a response’s id is no conversation',
    () => facts({ ...CHAT, 'gen_ai.conversation.id': 'resp_1' }).session,
    undefined,
  ],
  [
    'LangSmith’s provider of a chain is a framework',
    () =>
      facts({
        'langsmith.span.kind': 'chain',
        'gen_ai.operation.name': 'chain',
        'gen_ai.system': 'langchain',
        'gen_ai.completion': '{}',
      }).role,
    'container',
  ],
  [
    'a framework’s name is no provider',
    () =>
      ['langchain', 'strands-agents', 'microsoft.agent_framework', 'autogen'].flatMap((name) => [
        facts({ ...CHAT, 'gen_ai.system': name }).provider,
        facts({ ...CHAT, 'gen_ai.provider.name': name, 'gen_ai.system': 'openai' }).provider,
      ]),
    Array.from({ length: 4 }, () => [undefined, 'openai']).flat(),
  ],
  [
    'Anthropic’s input leaves its cache out',
    () =>
      facts({
        'span.type': 'claude_code.llm_request',
        input_tokens: 3,
        cache_read_tokens: 10,
        cache_creation_tokens: 2,
      }).usage,
    { inputTokens: 15, cachedInputTokens: 10, cacheWriteTokens: 2 },
  ],
];

describe.each(Object.entries({ encoding, dialects, identity }))(
  'quirks of the %s in a span',
  (_group, quirks) => {
    it.each(quirks)('%s', (_quirk, actual, expected) => {
      expect(actual()).toEqual(expected);
    });
  },
);

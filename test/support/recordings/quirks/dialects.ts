import { readMessages } from '../../../../src/conventions/messages/read-messages.ts';
import { answersIn, CHAT, facts, json, parts, RAIN, response, type Quirk } from './span-facts.ts';

/** Quirks where emitters spell the same fact differently. */
export const dialects: readonly Quirk[] = [
  [
    'Q19 results are under four names',
    () =>
      ['response', 'result', 'content', 'output']
        .flatMap((key) => parts([response(key)]))
        .map((part) => (part as { result: unknown }).result),
    [{ ok: true }, { ok: true }, { ok: true }, { ok: true }],
  ],
  [
    'Q20 reasoning has many names',
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
    'Q21 results come under any role',
    () =>
      ['user', 'tool', 'function', ''].map(
        (role) =>
          readMessages([{ role, parts: [{ type: 'tool_call_response', id: '1', result: 'x' }] }], 'user')[0]
            ?.role,
      ),
    ['tool', 'tool', 'tool', 'tool'],
  ],
  [
    'Q22 roles have many names',
    () =>
      ['human', 'ai', 'model', 'developer', 'Assistant', 'TOOL'].map(
        (role) => readMessages([{ role, content: 'x' }], 'user')[0]?.role,
      ),
    ['user', 'assistant', 'assistant', 'system', 'assistant', 'tool'],
  ],
  [
    'Q23 a choice has its calls beside the message or inside it',
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
    'Q24 Strands’ blocks are told by type or by key',
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
    'Q25 an event’s name is a field or an attribute',
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
    'Q26 files are blobs with data, or addresses',
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
    'Q27 calls stand beside parts',
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
    'Q28 content has an index',
    () =>
      facts({ 'openinference.span.kind': 'LLM', 'llm.output_messages.0.message.content.0': 'Rain.' }).output,
    RAIN,
  ],
  [
    'Q29 LiveKit’s keys have an old and a new name',
    () =>
      ['lk.response.text', 'lk.pii.response.text'].map(
        (key) => facts({ [key]: 'Rain.' }, { scope: 'livekit-agents', name: 'llm_node' }).output,
      ),
    [RAIN, RAIN],
  ],
  [
    'Q30 indexes begin at one, have gaps, and ten comes after nine',
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

import { readList } from '../../../../src/conventions/attributes.ts';
import { readTraces } from '../../../../src/conventions/index.ts';
import { readOutcome } from '../../../../src/conventions/messages/payloads.ts';
import { parsePythonRepr } from '../../../../src/conventions/messages/printed-items.ts';
import { readSystem } from '../../../../src/conventions/messages/read-messages.ts';
import { normaliseSpan } from '../../../../src/conventions/normalise-span.ts';
import { buildSpan, chatMessage, toolCall } from '../../builders/spans.ts';
import { answersIn, CHAT, facts, json, parts, type Quirk, RAIN } from './span-facts.ts';

/** Quirks in the encoding of values. */
export const encoding: readonly Quirk[] = [
  [
    'Q1 arguments are JSON in JSON',
    () => parts([chatMessage('assistant', toolCall('1', 'get', '{"a":1}'))])[0],
    { type: 'tool-call', id: '1', name: 'get', args: { a: 1 } },
  ],
  [
    'Q2 arguments are encoded twice',
    () => parts([chatMessage('assistant', toolCall('1', 'get', '"{\\"a\\":1}"'))])[0],
    { type: 'tool-call', id: '1', name: 'get', args: { a: 1 } },
  ],
  [
    'Q3 results stand in wrappers',
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
    'Q4 plain answers are quoted',
    () => facts({ 'traceloop.span.kind': 'workflow', 'traceloop.entity.output': '"Rain."' }).output,
    RAIN,
  ],
  [
    'Q5 the whole request is one text part',
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
    'Q6 values are Python’s',
    () => parsePythonRepr("{'a': True, 'b': None, 'c': 'it'}"),
    { a: true, b: null, c: 'it' },
  ],
  ['Q7 null attributes say nothing', () => answersIn(json('gen_ai.output.messages', {})), ['']],
  [
    'Q8 counts are texts or numbers',
    () => [
      facts({ ...CHAT, 'gen_ai.usage.input_tokens': '193' }).usage?.inputTokens,
      facts({ ...CHAT, 'gen_ai.usage.input_tokens': 193 }).usage?.inputTokens,
    ],
    [193, 193],
  ],
  [
    'Q9 finish reasons are JSON, a list of words, or one word',
    () =>
      ['["stop"]', 'tool_calls,stop', 'stop'].map(
        (value) => facts({ ...CHAT, 'gen_ai.response.finish_reasons': value }).finishReason,
      ),
    ['stop', 'stop', 'stop'],
  ],
  [
    'Q10 tags are JSON, a list of words, or one word',
    () => ['["a","b"]', 'a, b', 'a'].map((value) => readList(new Map([['tags', value]]), 'tags')),
    [['a', 'b'], ['a', 'b'], ['a']],
  ],
  [
    'Q11 definitions of tools of any shape are no calls',
    () =>
      ['["{\\"name\\":\\"get\\"}"]', '[{"function":{"name":"get"}}]', '["get"]'].map(
        (value) => facts({ ...CHAT, 'gen_ai.tool.definitions': value }).output,
      ),
    [undefined, undefined, undefined],
  ],
  [
    'Q12 instructions are a text, parts, or messages',
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
    'Q12 quoted instructions',
    () => facts({ ...CHAT, 'gen_ai.system_instructions': '"Be brief."' }).system,
    ['Be brief.'],
  ],
  [
    'Q13 messages are an object',
    () => [
      facts({ ...CHAT, 'gen_ai.input.messages': { messages: [chatMessage('user', 'Hi')] } }).input,
      facts({ ...CHAT, 'gen_ai.output.messages': { text: 'Rain.' } }).output,
    ],
    [[{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }], RAIN],
  ],
  [
    'Q14 JSON is laid out in lines',
    () =>
      facts({
        ...CHAT,
        'gen_ai.output.messages': JSON.stringify([chatMessage('assistant', 'Rain.')], null, 2),
      }).output,
    RAIN,
  ],
  [
    'Q15 JSON is cut off',
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
    'Q16 messages are structured values',
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
    'Q17 ids are base64',
    () =>
      readTraces(json('a', {}, { traceId: 'CvdlGRbNQ92ESOshHIAxnA==', spanId: 'ASNFZ4mrze8=' })).map(
        ({ traceId }) => traceId,
      ),
    ['0af7651916cd43dd8448eb211c80319c'],
  ],
  [
    'Q18 halves of surrogates and zeros are kept in text that is JSON again',
    () =>
      JSON.parse(
        JSON.stringify(
          facts({ ...CHAT, 'gen_ai.output.messages': '[{"role":"assistant","content":"a\\ud83d\\u0000"}]' })
            .output,
        ),
      ),
    [{ type: 'text', text: 'a\ud83d\u0000' }],
  ],
];

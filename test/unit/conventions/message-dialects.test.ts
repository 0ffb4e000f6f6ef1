import { answerIn, argumentsIn, requestIn, responseIn } from '../../../src/conventions/messages/payloads.ts';
import { readMessages } from '../../../src/conventions/messages/read-messages.ts';
import { describe, expect, it } from 'vitest';

const QUESTION = { role: 'user', content: 'Where is P-204?' };
const ASKED = { role: 'user', parts: [{ type: 'text', text: 'Where is P-204?' }] };
const FUNCTION = { name: 'find', arguments: '{"number":"P-204"}' };
const CALL = { type: 'tool-call', id: '1', name: 'find', args: { number: 'P-204' } };

describe('the definition of a tool among the messages', () => {
  it.each([
    ['as an item', { type: 'function', function: { name: 'find', parameters: {} } }],
    [
      'as the content of a message',
      { role: 'tool', content: { type: 'function', function: { name: 'find', description: 'Finds.' } } },
    ],
  ])('is no message %s', (_, definition) => {
    expect(readMessages([QUESTION, definition], 'user')).toEqual([ASKED]);
  });

  it('differs from a call, which has an id or arguments', () => {
    const call = { role: 'assistant', tool_calls: [{ id: '1', type: 'function', function: FUNCTION }] };
    expect(readMessages([call], 'user')).toEqual([{ role: 'assistant', parts: [CALL] }]);
  });
});

describe('an item without a role', () => {
  it('is a call that the provider ran, in its place, without the fields that are no arguments', () => {
    const item = {
      id: 'fs_1',
      type: 'file_search_call',
      queries: ['rules'],
      status: 'completed',
      results: null,
    };
    expect(readMessages([QUESTION, item, { role: 'assistant', content: '30 kg.' }], 'user')).toEqual([
      ASKED,
      {
        role: 'assistant',
        parts: [
          {
            type: 'tool-call',
            id: 'fs_1',
            name: 'file_search',
            args: { queries: ['rules'] },
            providerExecuted: true,
          },
        ],
      },
      { role: 'assistant', parts: [{ type: 'text', text: '30 kg.' }] },
    ]);
  });

  it('has the result of the call, when the provider sent it', () => {
    const item = { id: 'm1', type: 'mcp_call', name: 'find', arguments: '{"n":1}', output: 'Hamburg' };
    expect(responseIn({ output: [item] })).toEqual([
      { type: 'tool-call', id: 'm1', name: 'find', args: { n: 1 }, providerExecuted: true },
      { type: 'tool-result', id: 'm1', name: 'find', result: 'Hamburg' },
    ]);
  });

  it('is a failed call, when it has an error', () => {
    const item = { id: 'm1', type: 'mcp_call', name: 'find', arguments: '{}', error: 'no access' };
    expect(responseIn({ output: [item] })).toMatchObject([
      { type: 'tool-call', id: 'm1' },
      { type: 'tool-result', id: 'm1', errorText: 'no access' },
    ]);
  });

  it('is a call of the application, when it has a call id', () => {
    const items = [
      { id: 'i1', call_id: 'c1', type: 'custom_tool_call', name: 'run', input: 'ls' },
      { id: 'i2', call_id: 'c1', type: 'custom_tool_call_output', output: 'a.txt' },
    ];
    expect(requestIn({ input: [QUESTION, ...items] }).input).toEqual([
      ASKED,
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'run', args: 'ls' }] },
      { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: null, result: 'a.txt' }] },
    ]);
  });

  it('says nothing, when it lists tools or asks for an approval', () => {
    const items = [
      { type: 'mcp_list_tools', tools: [] },
      { type: 'mcp_approval_request', name: 'find' },
    ];
    expect(readMessages([QUESTION, ...items], 'user')).toEqual([ASKED]);
  });
});

describe('a message with an unknown role', () => {
  const called = { role: 'assistant', tool_calls: [{ id: '1', function: FUNCTION }] };

  it('is the tool’s with the id of a call', () => {
    expect(
      readMessages([called, { role: 'lookup', tool_call_id: '1', content: 'Hamburg' }], 'user')[1],
    ).toEqual({
      role: 'tool',
      parts: [{ type: 'tool-result', id: '1', name: null, result: 'Hamburg' }],
    });
  });

  it('is the result of the tool whose name is the role, when an earlier message called it', () => {
    expect(readMessages([called, { role: 'find', content: 'Hamburg' }], 'user')[1]).toEqual({
      role: 'tool',
      parts: [{ type: 'tool-result', id: null, name: 'find', result: 'Hamburg' }],
    });
    expect(readMessages([{ role: 'find', content: 'Hamburg' }], 'user')).toMatchObject([{ role: 'user' }]);
  });
});

describe('calls in several homes of one message', () => {
  it('are read from the additional arguments of LangChain', () => {
    const message = {
      role: 'assistant',
      content: '',
      additional_kwargs: { tool_calls: [{ id: '1', function: FUNCTION }] },
    };
    expect(readMessages([message], 'user')).toEqual([{ role: 'assistant', parts: [CALL] }]);
  });

  it('are read once, with the arguments of the first home that has them', () => {
    const message = {
      type: 'ai',
      content: [
        { type: 'tool_use', id: '1', name: 'find', input: { number: 'old' } },
        { type: 'text', text: 'I look.' },
      ],
      additional_kwargs: { tool_calls: [{ id: '1', function: FUNCTION }] },
      tool_calls: [{ id: '1', name: 'find', args: {} }],
    };
    expect(readMessages([message], 'user')).toEqual([
      { role: 'assistant', parts: [CALL, { type: 'text', text: 'I look.' }] },
    ]);
  });
});

describe('blocks of Anthropic’s Messages API', () => {
  it('are a call and its result', () => {
    const content = [{ type: 'tool_use', id: '1', name: 'find', input: { number: 'P-204' } }];
    const result = { type: 'tool_result', tool_use_id: '1', content: [{ type: 'text', text: 'Hamburg' }] };
    expect(
      readMessages(
        [
          { role: 'assistant', content },
          { role: 'user', content: [result] },
        ],
        'user',
      ),
    ).toEqual([
      { role: 'assistant', parts: [CALL] },
      { role: 'tool', parts: [{ type: 'tool-result', id: '1', name: null, result: 'Hamburg' }] },
    ]);
  });

  it('are a failed call, by the flag or by the error of a server tool', () => {
    const blocks = [
      { type: 'tool_result', tool_use_id: '1', content: 'no access', is_error: true },
      {
        type: 'web_search_tool_result',
        tool_use_id: '2',
        content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
      },
    ];
    expect(readMessages([{ role: 'user', content: blocks }], 'user')[0]?.parts).toMatchObject([
      { id: '1', errorText: 'no access' },
      { id: '2', errorText: expect.stringContaining('unavailable') },
    ]);
  });

  it.each(['server_tool_use', 'mcp_tool_use'])('of type %s are calls that the provider ran', (type) => {
    const response = { role: 'assistant', content: [{ type, id: '1', name: 'search', input: { q: 'P' } }] };
    expect(responseIn(response)).toEqual([
      { type: 'tool-call', id: '1', name: 'search', args: { q: 'P' }, providerExecuted: true },
    ]);
  });
});

describe('values that Python printed', () => {
  it('are the arguments of a tool', () => {
    expect(argumentsIn("{'number': 'P-204', 'express': False, 'note': 'say \"hi'}")).toEqual({
      number: 'P-204',
      express: false,
      note: 'say "hi',
    });
  });

  it('are an answer, when it is a dictionary with a role', () => {
    expect(answerIn("{'role': 'assistant', 'text': 'In Hamburg.'}")).toEqual([
      { type: 'text', text: 'In Hamburg.' },
    ]);
    expect(answerIn("{'number': 'P-204'}")).toEqual([{ type: 'text', text: "{'number': 'P-204'}" }]);
  });

  it.each([
    [
      "ResponseFunctionToolCall(arguments='{\"number\":\"P-204\"}', call_id='1', name='find', type='function_call', id='fc_1')",
      [CALL],
    ],
    [
      "ResponseOutputMessage(id='m', content=[ResponseOutputText(text='Hamburg.', type='output_text')], role='assistant', type='message')",
      [{ type: 'text', text: 'Hamburg.' }],
    ],
    [
      "ResponseFunctionWebSearch(id='ws_1', action=ActionSearch(query='P', type='search'), status='completed', type='web_search_call')",
      [
        {
          id: 'ws_1',
          name: 'web_search',
          args: { action: { query: 'P', type: 'search' } },
          providerExecuted: true,
        },
      ],
    ],
    ['ResponseFunctionToolCall(arguments=\'{"number"', [{ type: 'text' }]],
    ['Response(s) are late', [{ type: 'text', text: 'Response(s) are late' }]],
  ])(
    'are the items of a response, when their class is known and they can be parsed: %s',
    (content, parts) => {
      const message = { role: 'assistant', parts: [{ type: 'text', content }] };
      expect(readMessages([message], 'user')[0]?.parts).toMatchObject(parts);
    },
  );
});

describe('empty values as text', () => {
  it('are no part, when the text is empty JSON', () => {
    expect(readMessages([{ role: 'assistant', content: '""' }], 'user')).toEqual([]);
  });

  it.each(['null', 'None', 'undefined', '', ' '])('are no id of a call: %j', (id) => {
    const message = { role: 'assistant', tool_calls: [{ id, function: FUNCTION }] };
    expect(readMessages([message], 'user')[0]?.parts).toEqual([{ ...CALL, id: null }]);
  });
});

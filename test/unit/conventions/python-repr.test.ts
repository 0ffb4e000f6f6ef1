import { parsePythonRepr } from '../../../src/conventions/messages/printed-items.ts';
import { describe, expect, it } from 'vitest';

describe('parsePythonRepr', () => {
  it.each([
    [
      "{'city': 'Paris', 'tempC': 18, 'ok': True, 'x': None}",
      { city: 'Paris', tempC: 18, ok: true, x: null },
    ],
    ["['a', (1, 2.5), [], {}]", ['a', [1, 2.5], [], {}]],
    [`{"it's": 'say "hi"\\n\\u00e9\\x41'}`, { "it's": 'say "hi"\n\u00e9A' }],
    ["<ChatRole.USER: 'user'>", 'user'],
    [
      "ToolCall(tool_name='get', arguments={'city': 'Paris'}, id=None)",
      { $type: 'ToolCall', tool_name: 'get', arguments: { city: 'Paris' }, id: null },
    ],
    ["Text('plain')", { $type: 'Text', 0: 'plain' }],
    ["{'__proto__': 1}", JSON.parse('{"__proto__": 1}') as unknown],
    ['-1e3', -1000],
  ])('reads %s', (text, value) => {
    expect(parsePythonRepr(text)).toEqual(value);
  });

  it.each(['', "{'a': 1", "'open", 'two words', "{'a' 'b': }", '[1)', 'x = 1', "{'a': 'b': 'c'}"])(
    'gives nothing for %j',
    (text) => {
      expect(parsePythonRepr(text)).toBeUndefined();
    },
  );

  it('gives up on nesting that is deeper than JSON may be', () => {
    expect(parsePythonRepr('['.repeat(100_000))).toBeUndefined();
  });
});

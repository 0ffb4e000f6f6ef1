import { describe, expect, test } from 'vitest';
import { jsonAttributes } from '../../../../src/store/foreign/json-attributes.ts';
import { fc } from '../../../support/fast-check.ts';

function read(text: string, keys: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(jsonAttributes(text, keys));
}

describe('attributes out of a JSON column', () => {
  test('have the names that were sent, not their nesting', () => {
    expect(read('{"a":{"b":{"c":"x"},"d":"y"},"e":"z"}')).toEqual({ 'a.b.c': 'x', 'a.d': 'y', e: 'z' });
  });

  test('keep a key that is also the beginning of other keys', () => {
    expect(
      read('{"ai":{"prompt":"x","prompt":{"messages":"y"}}}', ['ai.prompt', 'ai.prompt.messages']),
    ).toEqual({ 'ai.prompt': 'x', 'ai.prompt.messages': 'y' });
  });

  test('lower numbers, booleans and null as a map of strings holds them', () => {
    expect(read('{"n":5,"f":-0.5,"big":9007199254740993,"b":true,"none":null}')).toEqual({
      n: '5',
      f: '-0.5',
      big: '9007199254740993',
      b: 'true',
      none: '',
    });
  });

  test('keep lists as JSON, for any items', () => {
    expect(read('{"l":["a","]",{"k":"}"}],"m":[]}')).toEqual({ l: '["a","]",{"k":"}"}]', m: '[]' });
  });

  test('keep a map that was one value as JSON', () => {
    expect(read('{"args":{"city":"Paris"}}', ['args'])).toEqual({ args: '{"city":"Paris"}' });
  });

  test('hold the keys whose value was empty', () => {
    expect(read('{"a":"x"}', ['a', 'gone'])).toEqual({ a: 'x', gone: '' });
    expect(read('{}', ['gone'])).toEqual({ gone: '' });
    expect(read('{}')).toEqual({});
  });

  test('read keys and values that hold quotes, braces and escapes', () => {
    expect(read(String.raw`{"a\"{":"\\\"}\n\u00e9"}`)).toEqual({ 'a"{': '\\"}\né' });
  });

  test('reach no prototype', () => {
    const attributes = jsonAttributes('{"__proto__":{"polluted":"x"},"constructor":"y"}', []);
    expect([...attributes]).toEqual([
      ['__proto__.polluted', 'x'],
      ['constructor', 'y'],
    ]);
  });

  test('read a thousand levels without a stack', () => {
    const depth = 1_000;
    const text = `${'{"a":'.repeat(depth)}"x"${'}'.repeat(depth)}`;
    expect([...jsonAttributes(text, []).values()]).toEqual(['x']);
  });

  test.each(['', '[', '{', '{"a"', '{"a":', '{"a":"x', '{"a":[1', '{"a":{"b":1}', 'null', '{"a":}'])(
    'are refused with the place for %j',
    (text) => {
      expect(() => jsonAttributes(text, [])).toThrow(/no JSON object \(at \d+\)/);
    },
  );

  test('of strings read as JSON.parse reads them', () => {
    const key = fc.string().map((text) => text.replaceAll('.', '_'));
    fc.assert(
      fc.property(fc.dictionary(key, fc.string()), (values) => {
        expect([...jsonAttributes(JSON.stringify(values), [])]).toEqual(Object.entries(values));
      }),
    );
  });
});

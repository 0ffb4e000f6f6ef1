import { describe, expect, it } from 'vitest';
import { type AnyValue, lowerValue, MAX_VALUE_DEPTH } from '../../../src/wire/any-value.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';

describe('lowering an attribute value to the text that the table keeps', () => {
  it.each<[string, AnyValue, string]>([
    ['a string stays as it is', '{"not":"touched"}', '{"not":"touched"}'],
    ['an empty value is an empty text', null, ''],
    ['a boolean is a word', true, 'true'],
    ['an integer is decimal', 193, '193'],
    ['an integer beyond a double keeps its digits', 9_223_372_036_854_775_807n, '9223372036854775807'],
    ['a fraction is decimal', 0.2, '0.2'],
    ['bytes are base64', new Uint8Array([0, 1, 2, 255]), 'AAEC/w=='],
    ['a list is JSON', ['stop', 1, null, 2.5], '["stop",1,null,2.5]'],
    ['a number that is none is its word', Number.NaN, 'NaN'],
    ['a number that is none within a list is a JSON string', [Number.POSITIVE_INFINITY], '["Infinity"]'],
    ['half a surrogate pair is replaced', 'a\ud800b', 'a\ufffdb'],
  ])('%s', (_what, value, expected) => {
    expect(lowerValue(value)).toBe(expected);
  });

  it('writes maps with sorted keys, as the Collector does', () => {
    const value = new Map<string, AnyValue>([
      ['role', 'user'],
      ['parts', [new Map<string, AnyValue>([['type', 'text']])]],
    ]);

    expect(lowerValue(value)).toBe('{"parts":[{"type":"text"}],"role":"user"}');
  });

  it('refuses a value that is nested too deep', () => {
    let value: AnyValue = 'x';
    for (let depth = 0; depth < MAX_VALUE_DEPTH + 2; depth += 1) {
      value = [value];
    }

    expect(() => lowerValue(value)).toThrow(InvalidInputError);
  });
});

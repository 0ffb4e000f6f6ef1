import { describe, expect, it } from 'vitest';
import { MAX_JSON_DEPTH, parseStructure, parseValue } from '../../../src/conventions/json.ts';
import { fc } from '../../support/fast-check.ts';

describe('parseValue', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    ['"{\\"a\\":1}"', { a: 1 }],
    ['"plain"', 'plain'],
    ['plain', 'plain'],
    ['"42"', '42'],
    ['42', 42],
    ['1e999', '1e999'],
    ['12345678901234567890', '12345678901234567890'],
    ['007', '007'],
    ['true', true],
    ['2026-11-21', '2026-11-21'],
    ['', ''],
  ])('reads %s', (text, expected) => {
    expect(parseValue(text)).toEqual(expected);
  });

  it('gives back every value that was encoded, unless it is a text that looks like one', () => {
    const plain = fc.jsonValue().filter((value) => typeof value !== 'string' && typeof value !== 'number');
    fc.assert(
      fc.property(plain, (value) => {
        expect(parseValue(JSON.stringify(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe('parseStructure', () => {
  it('takes objects and lists only, however often encoded', () => {
    const text = JSON.stringify(JSON.stringify([1]));
    expect(parseStructure(text)).toEqual({ value: [1], truncated: false });
    expect(['1', '"x"', 'x', 'null', ''].map(parseStructure)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('closes JSON that a length limit cut at any place, with a warning', () => {
    const text = JSON.stringify([
      { role: 'user', parts: [{ type: 'text', content: 'It is "18°C" \\ \u0001 now' }], n: [1, true, null] },
    ]);
    for (let end = 3; end < text.length; end++) {
      const parsed = parseStructure(text.slice(0, end));
      expect([end, parsed?.truncated, Array.isArray(parsed?.value)]).toEqual([end, true, true]);
    }
    expect(parseStructure(text)?.truncated).toBe(false);
  });

  it('leaves values that are nested too deep as text', () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(parseStructure(nested(MAX_JSON_DEPTH))).toBeDefined();
    expect(parseStructure(nested(MAX_JSON_DEPTH + 1))).toBeUndefined();
    expect(parseStructure(`["${'['.repeat(1_000)}"]`)).toBeDefined();
  });
});

import { describe, expect, it } from 'vitest';
import { jsonCost } from '../../../../collector/otlp/json-body.ts';

const MIB = 1024 * 1024;

/** A list of so many times the same, in JSON. */
function buildList(unit: string, count: number): Buffer {
  return Buffer.from(`[${`${unit},`.repeat(count)}0]`);
}

/** Cost of one of them, beside its text. */
function costOfEach(unit: string, count: number): number {
  const body = buildList(unit, count);
  return Math.round((jsonCost(body, Infinity) - body.length * 2) / count);
}

describe('the memory for parsing JSON', () => {
  it('counts as 0 for a small body with any content', () => {
    expect(jsonCost(buildList('[]', 100_000), Infinity)).toBe(0);
  });

  it.each([
    ['[]', 144],
    ['{}', 144],
    ['{"a":[]}', 312],
    ['""', 56],
    ['"ab"', 56],
    ['1', 16],
    ['1.5', 16],
    ['null', 16],
  ])('is counted for each %s', (unit, bytes) => {
    expect(costOfEach(unit, 1_000_000)).toBe(bytes);
  });

  it.each([
    ['brackets, commas and colons', '"[{,:}]"'],
    ['quotes', '"\\"[{\\"[{"'],
    ['backslashes at the end', '"[\\\\"'],
  ])('takes a text with %s for one text', (_, unit) => {
    expect(costOfEach(unit, 300_000)).toBe(56);
  });

  it('is far higher for keys that are all different than for those of spans', () => {
    const keys = (name: (i: number) => string): Buffer =>
      Buffer.from(`{${Array.from({ length: 200_000 }, (_, i) => `"${name(i)}":0`).join()}}`);
    const same = jsonCost(
      keys(() => 'stringValue'),
      Infinity,
    );
    const different = jsonCost(
      keys((i) => String(i).padStart(11)),
      Infinity,
    );
    expect((different - same) / 200_000).toBeGreaterThan(150);
  });

  it('of long texts is little more than their length, twice', () => {
    const body = buildList(`"${'x'.repeat(MIB)}"`, 3);
    expect(jsonCost(body, Infinity)).toBeLessThan(body.length * 2 + 1_000);
  });

  it('is counted no further than the most that is allowed', () => {
    const cost = jsonCost(buildList('[]', 1_000_000), 20 * MIB);
    expect(cost).toBeGreaterThan(20 * MIB);
    expect(cost).toBeLessThan(20 * MIB + 200);
  });

  it('is computed for a text that never ends', () => {
    const body = Buffer.from(`["${'\\'.repeat(2 * MIB)}`);
    expect(jsonCost(body, Infinity)).toBe(body.length * 2 + 128 + 40);
  });
});

import { describe, expect, it } from 'vitest';
import { allBegin, allOf, countOf, partOf } from '../../../src/domain/plural.ts';

describe('a number with its noun', () => {
  it.each([
    [countOf(1, 'trace'), '1 trace'],
    [countOf(0, 'trace'), '0 traces'],
    [countOf(2, 'retry', 'retries'), '2 retries'],
    [partOf(1, 1, 'claim'), '1 of 1 claim'],
    [partOf(1, 3, 'claim'), '1 of 3 claims'],
    [allOf(1, 'claim'), 'the only claim'],
    [allOf(3, 'claim'), 'all 3 claims'],
    [allBegin(1, 'step', ['was', 'were']), 'The only step was'],
    [allBegin(2, 'step', ['was', 'were']), 'All 2 steps were'],
  ])('reads well: %s', (text, expected) => {
    expect(text).toBe(expected);
  });
});

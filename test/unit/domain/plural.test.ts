import { describe, expect, it } from 'vitest';
import { allBegin, formatAbout, formatAll, formatCount, formatPart } from '../../../src/domain/plural.ts';

describe('a number with its noun', () => {
  it.each([
    [formatCount(1, 'trace'), '1 trace'],
    [formatCount(0, 'trace'), '0 traces'],
    [formatCount(2, 'retry', 'retries'), '2 retries'],
    [formatAbout(0.7, 'trace'), 'less than 1 trace'],
    [formatAbout(1.2, 'trace'), 'about 1 trace'],
    [formatAbout(21.4, 'trace'), 'about 21 traces'],
    [formatAbout(0, 'trace'), '0 traces'],
    [formatPart(1, 1, 'claim'), '1 of 1 claim'],
    [formatPart(1, 3, 'claim'), '1 of 3 claims'],
    [formatAll(1, 'claim'), 'the only claim'],
    [formatAll(3, 'claim'), 'all 3 claims'],
    [allBegin(1, 'step', ['was', 'were']), 'The only step was'],
    [allBegin(2, 'step', ['was', 'were']), 'All 2 steps were'],
  ])('reads well: %s', (text, expected) => {
    expect(text).toBe(expected);
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { directScore } from '../../../src/domain/agreement/directed-score.ts';
import { isBelow, reaches } from '../../../src/domain/limits.ts';

interface BarCase {
  readonly scores?: readonly number[];
  readonly hallucinated?: number;
  readonly claims?: number;
  readonly bar: number;
  readonly exit: number;
}

const BARS = new URL('../../fixtures/reports/37-bar-exactly-met/bars.json', import.meta.url);
const cases = JSON.parse(readFileSync(BARS, 'utf8')) as BarCase[];

function readMean({ scores, hallucinated = 0, claims = 1 }: BarCase): number {
  const directed = { scoreMin: 0, scoreMax: 1, higherIsBetter: false };
  return scores === undefined
    ? directScore(hallucinated / claims, directed)
    : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

describe('a limit', () => {
  it.each(cases)('of $bar is met as the case of a mean says: $scores $hallucinated', (given) => {
    expect(reaches(readMean(given), given.bar)).toBe(given.exit === 0);
    expect(isBelow(readMean(given), given.bar)).toBe(given.exit !== 0);
  });

  it('is never met by a number that is none, and none is met that is endless', () => {
    expect(reaches(Number.NaN, 0)).toBe(false);
    expect(isBelow(5, Number.POSITIVE_INFINITY)).toBe(true);
    expect(isBelow(1_000_000_000, 1_000_000_000.2)).toBe(false);
  });
});

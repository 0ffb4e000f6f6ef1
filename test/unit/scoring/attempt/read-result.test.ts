import { describe, expect, it } from 'vitest';
import { readResult } from '../../../../src/scoring/attempt/attempt-scorer.ts';

const bound = { name: 'tone', scorer: { range: [0, 1], labels: [] } } as never;

describe('the result of a scorer', () => {
  it.each([
    [{ score: -1.56 }, 'out_of_range: -1.56 is outside of [0, 1], the range of tone'],
    [{ score: 1.01 }, 'out_of_range: 1.01 is outside of [0, 1], the range of tone'],
    [
      { score: 1, scores: [{ name: 'part', score: 6, range: [1, 5] }] },
      'out_of_range: 6 is outside of [1, 5], the range of tone.part',
    ],
    [{ score: Number.NaN }, 'scorer_failed: scorer tone: the score is NaN, not a finite number'],
    [{ score: Infinity }, 'scorer_failed: scorer tone: the score is Infinity, not a finite number'],
  ])('%j fails: %s', (result, reason) => {
    expect(readResult(bound, result as never)).toEqual({ status: 'failed', reason });
  });

  it.each([0, 1, 0.1 + 0.2, 1.0000000000000002])('with the score %d in its range is a score', (score) => {
    expect(readResult(bound, { score })).toMatchObject({ status: 'scored', values: [{ score }] });
  });

  it('with a score beyond the range of the past of its agent is a score', () => {
    const measured = { name: 'behaviour', scorer: { labels: [] }, readsPast: true } as never;
    const scores = [{ name: 'behaviour-repeats', score: 6, range: [0, 2] as const }];
    expect(readResult(measured, { scores })).toMatchObject({ status: 'scored', values: [{ score: 6 }] });
  });
});

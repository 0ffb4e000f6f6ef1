import { afterEach, describe, expect, it } from 'vitest';
import { createScoreSpool } from '../../../../src/monitors/live/backtest-scores.ts';
import type { ScoreRecord } from '../../../../src/monitors/backtest.ts';

const spools: { dispose(): Promise<void> }[] = [];

afterEach(async () => {
  await Promise.all(spools.splice(0).map(async (spool) => spool.dispose()));
});

async function throughSpool(records: Iterable<ScoreRecord>): Promise<ScoreRecord[]> {
  const spool = createScoreSpool();
  spools.push(spool);
  for (const record of records) {
    await spool.add(record);
  }
  const ordered: ScoreRecord[] = [];
  for await (const record of spool.inOrder()) {
    ordered.push(record);
  }
  return ordered;
}

describe('scores of any order', () => {
  it('come out in order of time, equal times in the order they came', async () => {
    const start = Date.UTC(2026, 0, 1);
    const shuffled = [5, 1, 9, 1, 7].map((minutes, step) => ({
      atMs: start + minutes * 1e6,
      series: step,
      step,
    }));
    expect((await throughSpool(shuffled)).map(({ step }) => step)).toEqual([1, 3, 0, 4, 2]);
  });

  it('come out whole before 1970, too', async () => {
    const record = { atMs: -1, series: 4_000_000_000, step: 1000 };
    expect(await throughSpool([record])).toEqual([record]);
  });
});

import { expect, test } from 'vitest';
import type { TraceKey } from '../../../src/store/contracts/stores.ts';
import { createLaterScores } from '../../../src/scoring/read/lookups.ts';

function watchReads(recentMs?: number) {
  const reads: string[][] = [];
  const clock = { nowMs: 5_000 };
  const later = createLaterScores(
    {
      ofTraces: (keys: readonly TraceKey[]) => {
        reads.push(keys.map(({ traceId }) => traceId));
        return Promise.resolve(new Map());
      },
    },
    { monotonicMs: () => clock.nowMs, waitMs: 0, recentMs },
  );
  const task = (traceId: string, existingReadMs = 0) => ({
    key: { tenant: '', traceId },
    existing: [],
    existingReadMs,
  });
  return { reads, clock, later, task };
}

test('a read of scores before a judge is asked takes along the traces that wait for a judge', async () => {
  const { reads, clock, later, task } = watchReads();
  const [first, second, third] = [task('1'), task('2'), task('3')];
  const [stopFirst] = [first, second, third].map((each) => later.expect(each));
  stopFirst?.();
  await later.read(first);
  await Promise.all([later.read(second), later.read(third)]);
  expect(reads).toEqual([['1', '2', '3']]);
  clock.nowMs += 3_001;
  await later.read(third);
  expect(reads.slice(1)).toEqual([['3', '2']]);
});

test('scores that were read with the trace a moment ago are not read again', async () => {
  const { reads, later, task } = watchReads();
  await later.read(task('1', 4_500));
  expect(reads).toEqual([]);
});

test('scores are read each time where none count as recent, and nothing else with them', async () => {
  const { reads, later, task } = watchReads(0);
  const first = task('1', 5_000);
  later.expect(task('2'));
  await later.read(first);
  await later.read(first);
  expect(reads).toEqual([['1'], ['1']]);
});

test('scores of traces that wait for a judge are read again before the known ones are too old, and nobody waits for that', async () => {
  const { reads, clock, later, task } = watchReads();
  const [first, second] = [task('1', 5_000), task('2', 5_000)];
  const stopFirst = later.expect(first);
  later.expect(second);
  clock.nowMs += 1_600;
  stopFirst();
  await later.read(first);
  expect(reads).toEqual([]);
  await new Promise(setImmediate);
  expect(reads).toEqual([['1', '2']]);
  clock.nowMs += 1_450;
  await later.read(second);
  expect(reads).toHaveLength(1);
});

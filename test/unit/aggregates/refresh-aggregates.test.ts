import { describe, expect, test } from 'vitest';
import {
  openCurrentReads,
  rebuildAggregates,
  refreshAggregates,
  splitHours,
} from '../../../src/aggregates/refresh-aggregates.ts';
import { StoreRejectedError } from '../../../src/domain/errors.ts';
import type { AggregateReads } from '../../../src/store/sums/read-sums.ts';
import type { AggregateStore, TouchedHour } from '../../../src/store/contracts/sums.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = 1_800_000_000_000;

function hour(index: number, rows = 1): TouchedHour {
  return { tenant: '', hourMs: index * HOUR_MS, rows };
}

/** Store that records what is asked. */
function recordingStore(state: { doneMs: number | null; nowMs?: number; fails?: boolean }) {
  const asked: string[] = [];
  const store: AggregateStore = {
    nowMs: async () => state.nowMs ?? NOW_MS,
    doneUntil: async () => state.doneMs,
    markDone: async (untilMs) => {
      asked.push(`done ${untilMs - NOW_MS}`);
    },
    touchedSince: async (sinceMs) => {
      asked.push(`since ${sinceMs - NOW_MS}`);
      return [hour(1)];
    },
    allHours: async () => {
      asked.push('all');
      return [hour(1), hour(2)];
    },
    compute: async (hours) => {
      if (state.fails === true) {
        throw new Error('killed');
      }
      asked.push(`compute ${hours.length}`);
    },
  };
  return { store, asked };
}

describe('a pass over the aggregates', () => {
  test('computes every hour the first time', async () => {
    const { store, asked } = recordingStore({ doneMs: null });
    expect(await refreshAggregates(store)).toBe(2);
    expect(asked).toEqual(['all', 'compute 2', 'done 0']);
  });

  test('reads the time of the longest insert again', async () => {
    const { store, asked } = recordingStore({ doneMs: NOW_MS - 5_000 });
    await refreshAggregates(store);
    expect(asked).toEqual(['since -50000', 'compute 1', 'done 0']);
  });

  test('begins at the present when the clock of the store went back', async () => {
    const { store, asked } = recordingStore({ doneMs: NOW_MS + HOUR_MS });
    await refreshAggregates(store);
    expect(asked).toEqual(['since -45000', 'compute 1', 'done 0']);
  });

  test('is not done when a computation fails, so the next one repeats it', async () => {
    const { store, asked } = recordingStore({ doneMs: NOW_MS, fails: true });
    await expect(refreshAggregates(store)).rejects.toThrow('killed');
    expect(asked).toEqual(['since -45000']);
  });

  test.each([
    ['leaves the mark as it is', NOW_MS - 59_000, []],
    ['writes a mark once a minute', NOW_MS - 60_000, ['done 0']],
    ['writes a mark when the clock of the store went back', NOW_MS + HOUR_MS, ['done 0']],
  ])('that finds nothing %s', async (_what, doneMs, marks) => {
    const { store, asked } = recordingStore({ doneMs });
    expect(await refreshAggregates({ ...store, touchedSince: async () => [] })).toBe(0);
    expect(asked).toEqual(marks);
  });

  test('computes all other hours when the store refuses one, and names it', async () => {
    const { store, asked } = recordingStore({ doneMs: null });
    const refused: number[] = [];
    const onlyGood: AggregateStore = {
      ...store,
      compute: async (hours) => {
        if (hours.some(({ hourMs }) => hourMs === HOUR_MS)) {
          throw new StoreRejectedError('DECIMAL_OVERFLOW');
        }
        await store.compute(hours);
      },
    };
    await refreshAggregates(onlyGood, undefined, ({ hourMs }) => refused.push(hourMs));
    expect(refused).toEqual([HOUR_MS]);
    expect(asked).toEqual(['all', 'compute 1', 'done 0']);
  });

  test('ends before the next computation when it is stopped', async () => {
    const { store, asked } = recordingStore({ doneMs: NOW_MS });
    await expect(refreshAggregates(store, AbortSignal.abort(new Error('stopped')))).rejects.toThrow(
      'stopped',
    );
    expect(asked).toEqual(['since -45000']);
  });
});

test('a pass computes the newest hours first', async () => {
  const { store } = recordingStore({ doneMs: null });
  const computed: number[] = [];
  await refreshAggregates({
    ...store,
    allHours: async () => [hour(1, 400_000), hour(2, 400_000), hour(3, 400_000)],
    compute: async (hours) => void computed.push(...hours.map(({ hourMs }) => hourMs / HOUR_MS)),
  });
  expect(computed).toEqual([3, 2, 1]);
});

describe('hours that are read from the scores', () => {
  const DAY_MS = 24 * HOUR_MS;
  const HOURS = [hour(30), { ...hour(100), tenant: 'b' }, hour(400), hour(401)];

  /** Reads beside a last pass 7 minutes ago. */
  async function listRead(rowsOfDays: ReadonlyMap<number, number>, tenant?: string, range = {}) {
    const { store } = recordingStore({ doneMs: NOW_MS - 420_000 });
    const asked: (readonly TouchedHour[] | undefined)[] = [];
    const aggregateReads = {
      firstWrittenSince: async (sinceMs: number) => sinceMs,
      rowsByDay: async () => rowsOfDays,
      scorerNames: async () => [],
      sum: async ({ lacking }: { readonly lacking?: readonly TouchedHour[] | undefined }) => {
        asked.push(lacking);
        return [];
      },
    } as unknown as AggregateReads;
    const aggregates = { ...store, touchedSince: async () => HOURS };
    const reads = await openCurrentReads({ aggregates, aggregateReads }, tenant);
    await reads.sum({ source: 'live', fromMs: 0, toMs: NOW_MS, by: [], ...range });
    return {
      hours: asked.flatMap((hours) => hours?.map(({ hourMs }) => hourMs / HOUR_MS)),
      behindSeconds: reads.behindSeconds,
    };
  }

  test.each([
    ['all that the next pass computes', [[0, 100_000]], undefined, [401, 400, 100, 30]],
    ['those of the tenant', [[0, 100_000]], 'b', [100]],
    [
      'the newest, where these days have many scores',
      [
        [16, 400_000],
        [4, 200_000],
      ],
      undefined,
      [401, 400],
    ],
    ['none, where the newest of these days has too many scores', [[16, 600_000]], undefined, []],
    ['all, where other days have many scores', [[10, 6_000_000]], undefined, [401, 400, 100, 30]],
  ] as const)('are %s', async (_what, rows, tenant, hours) => {
    const rowsOfDays = new Map(rows.map(([day, count]) => [day * DAY_MS, count]));
    expect(await listRead(rowsOfDays, tenant)).toEqual({ hours, behindSeconds: 420 });
  });

  test('are those of the range that is read, however many scores newer days have', async () => {
    const rowsOfDays = new Map([[16 * DAY_MS, 600_000]]);
    const range = { fromMs: 20 * HOUR_MS, toMs: 200 * HOUR_MS };
    expect(await listRead(rowsOfDays, undefined, range)).toMatchObject({ hours: [100, 30] });
  });
});

test('a rebuild computes every hour, whatever was done before', async () => {
  const { store, asked } = recordingStore({ doneMs: NOW_MS });
  expect(await rebuildAggregates(store)).toBe(2);
  expect(asked).toEqual(['all', 'compute 2', 'done 0']);
});

describe('hours of one computation', () => {
  test('lie within a week', () => {
    const parts = [...splitHours([hour(0), hour(167), hour(168), hour(5_000)])];
    expect(parts.map((part) => part.map(({ hourMs }) => hourMs / HOUR_MS))).toEqual([
      [0, 167],
      [168],
      [5_000],
    ]);
  });

  test('have a limited number of rows, or are one hour', () => {
    const parts = [...splitHours([hour(0, 400_000), hour(1, 200_000), hour(2, 900_000), hour(3)])];
    expect(parts.map((part) => part.length)).toEqual([1, 1, 1, 1]);
  });

  test('are limited in number, for many tenants', () => {
    const parts = [...splitHours(Array.from({ length: 2_001 }, () => hour(0)))];
    expect(parts.map((part) => part.length)).toEqual([2_000, 1]);
  });
});

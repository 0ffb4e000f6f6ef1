import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCurrentReads, refreshAggregates } from '../../../../src/aggregates/refresh-aggregates.ts';
import { readErrorMessage } from '../../../../src/domain/errors.ts';
import type { Score } from '../../../../src/domain/score.ts';
import type { AggregateStore, SummaryRow } from '../../../../src/store/contracts/sums.ts';
import { fc } from '../../../support/fast-check.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { buildScore, testStore, type TestStore } from '../../../support/store/store-rows.ts';

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 9, 30, 22);

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(() => it.stop());

/** Sums of the raw scores, in the shape of `aggregated`. */
function rawSums(step: string): string {
  return `
  SELECT Tenant, Scorer, toString(toStartOfInterval(TraceTimestamp, INTERVAL 1 ${step})) AS bucket, Source, Agent, Model,
    toUInt64(count()) AS n, round(sum(ifNull(Weight, 1)), 6) AS weight, round(sum(ifNull(Weight, 1) * Score), 6) AS total,
    countIf(Score = 0.5) AS halves
  FROM scores FINAL GROUP BY ALL ORDER BY ALL`;
}

function aggregated(table: string): string {
  return `
  SELECT Tenant, Scorer, toString(toDateTime(Bucket, 'UTC')) AS bucket, Source, Agent, Model,
    toUInt64(sum(Scores)) AS n, round(sum(Weight), 6) AS weight, round(sum(Total), 6) AS total,
    toUInt64(sum(arraySum(arrayMap((bin, scores) -> if(bin = 500, scores, 0), Bins, BinScores)))) AS halves
  FROM ${table} FINAL GROUP BY ALL ORDER BY ALL`;
}

/** Reads the sums of a table, and what they have to be. */
async function readSums(table: 'score_hours' | 'score_days') {
  const raw = await queryRows<{ bucket: string }>(
    it.options,
    rawSums(table === 'score_hours' ? 'HOUR' : 'DAY'),
  );
  const expected = raw.map((row) => ({ ...row, bucket: row.bucket.slice(0, 19).padEnd(19, ' 00:00:00') }));
  return { expected, found: await queryRows(it.options, aggregated(table)) };
}

/** Counts the rows of a table with a score, by bucket. */
function countRows(table: string) {
  return queryRows(
    it.options,
    `SELECT Bucket, count() AS n FROM ${table} WHERE Scores > 0 GROUP BY Bucket ORDER BY Bucket`,
  );
}

/** Scores of a bucket and group; of the whole range without a bucket. */
interface Counted {
  readonly bucketMs: string | null;
  readonly n: number;
  readonly scorer: string;
  readonly values: readonly string[];
}

/** Adds the counts of buckets. */
function sumUp(rows: readonly Counted[]): Counted[] {
  const groups = Map.groupBy(rows, ({ scorer, values }) => JSON.stringify([scorer, values]));
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, each]) => ({ ...each[0]!, bucketMs: null, n: each.reduce((sum, { n }) => sum + n, 0) }));
}

/**
 * Expects that reads count every current score of the walks, whatever passes have computed: by the hour, by the day, and in a range that
 * begins and ends within a day.
 */
async function expectAllScores(store: Parameters<typeof openCurrentReads>[0]) {
  const reads = await openCurrentReads(store, undefined);
  const days = [Date.UTC(2026, 9, 30), Date.UTC(2026, 10, 1)] as const;
  const cut = [Date.UTC(2026, 9, 29, 23), Date.UTC(2026, 9, 31, 1)] as const;
  for (const [bucketMs, [fromMs, toMs]] of [
    [HOUR_MS, days],
    [24 * HOUR_MS, days],
    [24 * HOUR_MS, cut],
  ] as const) {
    const query = { source: 'live', fromMs, toMs, by: ['agent'] } as const;
    const found = await reads.sum({ ...query, bucketMs, withTotals: true });
    const expected = await queryRows<Counted>(
      it.options,
      `SELECT intDiv(toUnixTimestamp64Milli(toDateTime64(TraceTimestamp, 3)), ${bucketMs}) * ${bucketMs} AS bucketMs,
         toUInt32(count()) AS n, toString(Scorer) AS scorer, [toString(Agent)] AS values
       FROM scores FINAL WHERE Source = 'live' AND TraceTimestamp >= fromUnixTimestamp64Milli(${fromMs})
         AND TraceTimestamp < fromUnixTimestamp64Milli(${toMs}) GROUP BY ALL ORDER BY bucketMs, scorer, values`,
    );
    const toCounted = (rows: Awaited<ReturnType<typeof reads.sum>>): Counted[] =>
      rows.map(({ n, scorer, values, bucketMs: startMs }) => ({
        bucketMs: startMs === null ? null : String(startMs),
        n,
        scorer,
        values,
      }));
    expect(toCounted(found)).toEqual([...expected, ...sumUp(expected)]);
    expect(toCounted(await reads.sum(query))).toEqual(sumUp(expected));
  }
}

/**
 * Expects that a profile has the numbers that reads of its range, of the time before it and of its buckets have: by the hour, by the day, and
 * where the parts begin and end within a day.
 */
async function expectWholeProfile(store: Parameters<typeof openCurrentReads>[0]) {
  const reads = await openCurrentReads(store, undefined);
  const days = { fromMs: Date.UTC(2026, 9, 30), toMs: Date.UTC(2026, 10, 1) };
  const cut = { fromMs: Date.UTC(2026, 9, 30, 23), toMs: Date.UTC(2026, 9, 31, 1) };
  for (const [bucketMs, range, buckets] of [
    [HOUR_MS, cut, days],
    [24 * HOUR_MS, cut, days],
    [24 * HOUR_MS, days, days],
    [HOUR_MS, days, cut],
  ] as const) {
    const base = { source: 'live', by: ['agent'] } as const;
    const first = { fromMs: days.fromMs - 48 * HOUR_MS, toMs: days.toMs };
    const profile = await reads.profile({ ...base, ...first, range, buckets, bucketMs });
    const [now, before, points] = await Promise.all([
      reads.summarise({ ...base, ...range }),
      reads.summarise({ ...base, fromMs: first.fromMs, toMs: range.fromMs }),
      reads.summarise({ ...base, ...buckets, bucketMs }),
    ]);
    expect(round(profile.now)).toEqual(round(now));
    expect(round(profile.before)).toEqual(round(before));
    expect(countPoints(profile.points)).toEqual(countPoints(points));
    // A part never begins within an hour, so each hour has one row of a group.
    const isByHour = bucketMs === HOUR_MS;
    expect(isByHour ? sortPoints(profile.points) : []).toEqual(isByHour ? sortPoints(points) : []);
  }
}

/** Sums of floating-point numbers differ in their last digits by their order. */
function round<Rows>(rows: Rows): Rows {
  return JSON.parse(
    JSON.stringify(rows, (_key, value: unknown) =>
      typeof value === 'number' ? Number(value.toFixed(9)) : value,
    ),
  ) as Rows;
}

/** Counts the scores of each bucket and group: a bucket in which the range begins or ends has several rows. */
function countPoints(rows: readonly SummaryRow[]): [string, number][] {
  const buckets = Map.groupBy(rows, ({ bucketMs, scorer, values }) =>
    JSON.stringify([bucketMs, scorer, values]),
  );
  return [...buckets]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, each]) => [key, each.reduce((sum, { n }) => sum + n, 0)]);
}

function sortPoints(rows: readonly SummaryRow[]): string[] {
  return rows
    .map(({ bucketMs, scorer, values, n, unweighted, weight, effectiveN, passRate }) =>
      JSON.stringify(round([bucketMs, scorer, values, n, unweighted, weight, effectiveN, passRate])),
    )
    .toSorted();
}

/** Change of one of the scores of a walk. */
const change = fc.record({
  index: fc.nat({ max: 9 }),
  agent: fc.constantFrom('a', 'b'),
  model: fc.constantFrom('', 'm'),
  hour: fc.nat({ max: 4 }),
  score: fc.constantFrom(0, 0.5, 1),
  weight: fc.constantFrom(1, 20, null),
  isDeleted: fc.boolean(),
});

const walk = fc.array(
  fc.record({
    changes: fc.array(change, { minLength: 1, maxLength: 6 }),
    pass: fc.constantFrom('none' as const, 'whole' as const, 'killed' as const, 'two' as const),
  }),
  { minLength: 2, maxLength: 4 },
);

/** Store whose passes read nothing again: every write of a test is visible before the next pass. */
function withoutOverlap(store: AggregateStore): AggregateStore {
  return { ...store, touchedSince: (sinceMs) => store.touchedSince(sinceMs + 45_000) };
}

/** Store whose process is killed during its first computation: some hours are computed. */
function killed(store: AggregateStore): AggregateStore {
  return {
    ...store,
    compute: async (hours) => {
      await store.compute(hours.slice(1));
      throw new Error('killed');
    },
  };
}

const PASSES = {
  none: () => Promise.resolve(),
  whole: refreshAggregates,
  two: (store: AggregateStore) => Promise.all([refreshAggregates(store), refreshAggregates(store)]),
  killed: (store: AggregateStore) =>
    refreshAggregates(killed(store)).catch((error: unknown) => {
      if (readErrorMessage(error) !== 'killed') {
        throw error;
      }
    }),
};

describe('aggregates', () => {
  test('have nothing of a purged trace', async () => {
    const { aggregates, scores, purges } = it.store;
    const [gone, kept] = [buildScore({ tenant: 'purged' }), buildScore({ tenant: 'purged' })];
    await scores.write([gone, kept]);
    await refreshAggregates(aggregates);
    const jobId = randomUUID();
    await purges.collect(jobId, { kind: 'trace', id: gone.traceId, tenant: 'purged' });
    await purges.complete(jobId, undefined);
    const tables = Object.keys(await purges.count(jobId));
    const sinceMs = (await aggregates.nowMs()) + 1;
    await expect.poll(() => aggregates.nowMs()).toBeGreaterThan(sinceMs);
    await purges.remove(jobId, tables, AbortSignal.timeout(30_000));
    expect(await aggregates.touchedSince(sinceMs)).toMatchObject([{ tenant: 'purged' }]);
    await refreshAggregates(aggregates);
    const found = await queryRows(
      it.options,
      "SELECT toUInt32(sum(Scores)) AS n FROM score_days FINAL WHERE Tenant = 'purged'",
    );
    expect(found).toEqual([{ n: 1 }]);
  });

  test('are gone with a purged tenant', async () => {
    const { aggregates, scores, purges } = it.store;
    await scores.write([buildScore({ tenant: 'left' })]);
    await refreshAggregates(aggregates);
    const jobId = randomUUID();
    await purges.collect(jobId, { kind: 'tenant', id: 'left', tenant: undefined });
    await purges.complete(jobId, undefined);
    await purges.remove(jobId, Object.keys(await purges.count(jobId)), AbortSignal.timeout(30_000));
    const named = ['score_hours', 'score_days', 'aggregate_touches'].map(
      (table) => `SELECT Tenant FROM ${table} WHERE Tenant = 'left'`,
    );
    expect(await queryRows(it.options, named.join(' UNION ALL '))).toEqual([]);
  });

  test('find the former hour of a score that has moved', async () => {
    const { aggregates, scores } = it.store;
    const row = buildScore({ tenant: 'moved', traceTimestamp: START_MS - 48 * HOUR_MS });
    await scores.write([row]);
    const sinceMs = (await aggregates.nowMs()) + 1;
    await expect.poll(() => aggregates.nowMs()).toBeGreaterThan(sinceMs);
    await scores.write([
      { ...row, revision: 2, evidenceUntil: row.evidenceUntil + 1, traceTimestamp: START_MS - 50 * HOUR_MS },
    ]);
    const touched = await aggregates.touchedSince(sinceMs);
    expect(touched.map(({ tenant, hourMs }) => [tenant, (hourMs - START_MS) / HOUR_MS])).toEqual([
      ['moved', -50],
      ['moved', -48],
    ]);
  });

  test('equal the scores after re-scores, moves, deletions and kills', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(walk, async (steps) => {
        const base = Array.from({ length: 10 }, (_, index) =>
          buildScore({ tenant: index % 3 === 0 ? 't' : '', scorer: index % 2 === 0 ? 'tone' : 'bias' }),
        );
        const { scores } = it.store;
        const aggregates = withoutOverlap(it.store.aggregates);
        let evidenceUntil = Date.now();
        const revisions = base.map(() => 0);
        for (const { changes, pass } of steps) {
          const rows = changes.map(({ index, hour, ...fields }): Score => {
            evidenceUntil += 1;
            const revision = (revisions[index] ?? 0) + 1;
            revisions[index] = revision;
            const traceTimestamp = START_MS + hour * HOUR_MS;
            return { ...(base[index] ?? buildScore()), ...fields, evidenceUntil, revision, traceTimestamp };
          });
          await scores.write(rows);
          await PASSES[pass](aggregates);
          await expectAllScores({ aggregates, aggregateReads: it.store.aggregateReads });
          await expectWholeProfile({ aggregates, aggregateReads: it.store.aggregateReads });
        }
        await refreshAggregates(aggregates);
        await it.store.mergeSums();
        for (const table of ['score_hours', 'score_days'] as const) {
          const { found, expected } = await readSums(table);
          expect(found).toEqual(expected);
          expect(await countRows(table)).toEqual(await countRows(`${table} FINAL`));
        }
      }),
      { numRuns: 10 },
    );
  });
});

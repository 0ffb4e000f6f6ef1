import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refreshAggregates } from '../../../../src/aggregates/refresh-aggregates.ts';
import type { RunRecord } from '../../../../src/domain/run-record.ts';
import { fc } from '../../../support/fast-check.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { testStore, type TestStore } from '../../../support/store/store-rows.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Start of a past hour: the runs of a walk begin in the six hours from it on. */
const START_MS = (Math.floor(Date.now() / HOUR_MS) - 8) * HOUR_MS;

let it: TestStore;
/** Store with the same runs and without sums. */
let plain: TestStore;
let tenants = 0;

beforeAll(async () => {
  [it, plain] = [await testStore(), await testStore()];
});
afterAll(() => Promise.all([it.stop(), plain.stop()]));

/** Reads all numbers of the runs of a tenant. */
async function readNumbers(
  { store }: TestStore,
  tenant: string,
  range = { fromMs: START_MS + 1_234, toMs: START_MS + 20 * HOUR_MS },
) {
  const { runSums, lists, failures } = store;
  const query = { ...range, tenant };
  const [agents, all, versions, models, costs, ofModels, facets, ofGuide, { runs: allRuns }] =
    await Promise.all([
      runSums.agents({ ...query, limit: 100 }),
      runSums.all(query),
      runSums.versions({ tenant }),
      runSums.models({ ...query, agent: ['guide'] }),
      runSums.agentCosts({ ...query, by: 'agentVersion', bucketMs: HOUR_MS }),
      runSums.agentCosts({ ...query, by: 'model', bucketMs: HOUR_MS }),
      lists.traceFacets({ tenant, sinceMs: range.fromMs, untilMs: range.toMs }, FACETS),
      lists.traceFacets({ tenant, sinceMs: range.fromMs, agent: ['guide'] }, FACETS),
      lists.traceFacets({ tenant }, ['agent']),
    ]);
  const watched = { tenant, sinceMs: range.fromMs - 20 * DAY_MS, untilMs: range.toMs };
  const [ofIssues, ofHours] = await Promise.all([
    failures.runs(watched),
    failures.runHours({ ...watched, agent: 'guide', sinceMs: range.fromMs }),
  ]);
  const issueRuns = [...ofIssues, ...ofHours].map((count) => JSON.stringify(count)).toSorted();
  const first = versions.toSorted((a, b) => (a.version < b.version ? -1 : 1));
  return { agents, all, first, models, costs, ofModels, facets, ofGuide, allRuns, issueRuns };
}

const FACETS = ['agent', 'agentVersion', 'environment', 'service', 'tenant', 'model', 'tool'] as const;

/** Returns the numbers with costs in whole cents, and durations of six digits: those of the walks are whole steps. */
function round<T>(numbers: T): T {
  return JSON.parse(
    JSON.stringify(numbers, (name, value: unknown) =>
      typeof value !== 'number' || Number.isInteger(value)
        ? value
        : name.endsWith('Ms')
          ? Number(value.toPrecision(6))
          : Math.round(value * 100) / 100,
    ),
  ) as T;
}

const run = fc.record({
  index: fc.nat({ max: 7 }),
  minutes: fc.nat({ max: 6 * 60 - 1 }),
  // Starts move by less than an hour.
  moved: fc.integer({ min: -50, max: 50 }),
  agent: fc.constantFrom('guide', 'clerk', ''),
  agentVersion: fc.constantFrom('1', '2', ''),
  models: fc.constantFrom([], ['m-1'], ['m-2', 'm-1']),
  tools: fc.constantFrom([], ['search'], ['search', 'pay']),
  toolCalls: fc.constantFrom(null, 2),
  toolErrors: fc.constantFrom(null, 0, 1),
  costUsd: fc.constantFrom(null, 0.25, 1.5),
  totalTokens: fc.constantFrom(null, 100, 240),
  durationMs: fc.constantFrom(0, 1.01 ** 600, 1.01 ** 770, 1.01 ** 1_150),
  notScorable: fc.constantFrom('', '', 'no_agent_or_llm_span'),
  isDeleted: fc.constantFrom(false, false, false, true),
});

const walk = fc.array(
  fc.record({
    runs: fc.array(run, { minLength: 1, maxLength: 6 }),
    pass: fc.constantFrom('none' as const, 'whole' as const, 'killed' as const),
  }),
  { minLength: 2, maxLength: 4 },
);

async function pass(kind: 'none' | 'whole' | 'killed'): Promise<void> {
  const hours = it.store.runHours;
  const compute: typeof hours.compute = async (touched) => {
    await hours.compute(touched.slice(1));
    throw new Error('killed');
  };
  if (kind === 'whole') {
    await refreshAggregates(hours);
  } else if (kind === 'killed') {
    await Promise.allSettled([refreshAggregates({ ...hours, compute })]);
  }
}

describe('the sums of runs by the hour', () => {
  test(
    'give the numbers of the runs themselves, after moves, deletions and kills, before and after a pass',
    { timeout: 200_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(walk, async (steps) => {
          const tenant = `walk-${++tenants}`;
          const ids = Array.from({ length: 8 }, () => buildRunRecord().traceId);
          const starts = new Map<number, number>();
          let evidenceUntil = START_MS + 10 * HOUR_MS;
          const records: RunRecord[] = [];
          for (const { runs, pass: kind } of steps) {
            for (const { index, minutes, moved, ...fields } of runs) {
              const first = starts.get(index) ?? minutes;
              const startedAt = START_MS + (first + (starts.has(index) ? moved : 0)) * 60_000;
              starts.set(index, first);
              evidenceUntil += 1_000;
              const traceId = ids[index] ?? '';
              const record = { ...fields, tenant, traceId, targetId: traceId, startedAt, evidenceUntil };
              records.push(buildRunRecord(record));
              await it.store.runs.write(records.slice(-1));
            }
            await pass(kind);
          }
          await plain.store.runs.write(records);
          const expected = round(await readNumbers(plain, tenant));
          expect(round(await readNumbers(it, tenant))).toEqual(expected);
          await pass('whole');
          expect(round(await readNumbers(it, tenant))).toEqual(expected);
          // As if the pass were long ago: the sums alone.
          await it.store.runHours.markDone(Date.now() + 60_000);
          expect(round(await readNumbers(it, tenant))).toEqual(expected);
          await it.store.runHours.markDone(Date.now());
          const [row] = await queryRows<{ n: number }>(
            it.options,
            `SELECT toUInt32(sum(Runs)) AS n FROM run_hours FINAL WHERE Tenant = '${tenant}'`,
          );
          expect(row?.n).toBe(expected.allRuns);
        }),
        { numRuns: 15 },
      );
    },
  );
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildFunnel } from '../../../../src/api/reads/coverage.ts';
import { refreshAggregates } from '../../../../src/aggregates/refresh-aggregates.ts';
import { type Decision, WHOLE_RULE } from '../../../../src/domain/decision.ts';
import type { AggregateStore, CoverageRow } from '../../../../src/store/contracts/sums.ts';
import type { CoveredPair } from '../../../../src/store/contracts/stores.ts';
import { fc } from '../../../support/fast-check.ts';
import { buildRunRecord } from '../../../support/store/run-rows.ts';
import { queryRows, runCommand } from '../../../support/store/clickhouse-query.ts';
import { buildDecision, newTraceId, testStore, type TestStore } from '../../../support/store/store-rows.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const findPresentHour = () => Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
/** Start of the hour in which the file is loaded. */
const NOW_MS = findPresentHour();
const START_MS = NOW_MS - 6 * HOUR_MS;

/** The rule has a scorer more since the middle of an hour. */
const PAIRS: CoveredPair[] = [
  { rule: 'live', scorer: 'tone', fromMs: 0, untilMs: Infinity },
  { rule: 'live', scorer: 'bias', fromMs: START_MS + HOUR_MS / 2, untilMs: Infinity },
];

let it: TestStore;
let hours: AggregateStore;

beforeAll(async () => {
  it = await testStore();
  hours = it.store.decisionHours(async () => PAIRS);
});
afterAll(() => it.stop());

/** Computation that looks as if the last pass was on the day before: it reads everything of the last days again. */
function withNewDay(store: AggregateStore): AggregateStore {
  return { ...store, doneUntil: async () => (await store.nowMs()) - DAY_MS };
}

/** Computation whose process is killed during its first pass: some hours are computed. */
function killed(store: AggregateStore): AggregateStore {
  return {
    ...store,
    compute: async (touched) => {
      await store.compute(touched.slice(1));
      throw new Error('killed');
    },
  };
}

const PASSES = {
  none: () => Promise.resolve(),
  whole: () => refreshAggregates(hours),
  two: () => Promise.all([refreshAggregates(hours), refreshAggregates(hours)]),
  killed: () => expect(refreshAggregates(killed(withNewDay(hours)))).rejects.toThrow('killed'),
};

/** Counts the decisions of a tenant one by one: the current row of each target, rule and scorer. */
function countByHand(rows: readonly Decision[], tenant: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows.filter((each) => each.tenant === tenant)) {
    const known = PAIRS.filter(({ fromMs }) => fromMs <= row.evidenceUntil).map(({ scorer }) => scorer);
    const own = rows.filter((each) => each.traceId === row.traceId && each.scorer !== WHOLE_RULE);
    const others = known.filter((scorer) => !own.some((each) => each.scorer === scorer));
    for (const scorer of row.scorer === WHOLE_RULE ? others : [row.scorer]) {
      const name = [scorer, row.status, row.reason].join(' ');
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

function toCounts(rows: readonly CoverageRow[]): Map<string, number> {
  return new Map(
    rows.map(({ scorer, status, reason, decisions }) => [[scorer, status, reason].join(' '), decisions]),
  );
}

function inOrder(counts: Map<string, number>): [string, number][] {
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Change of the decision on one of the targets of a walk. */
const change = fc.record({
  index: fc.nat({ max: 5 }),
  scorer: fc.constantFrom('tone', WHOLE_RULE),
  status: fc.constantFrom('failed' as const, 'filtered' as const),
  reason: fc.constantFrom('timeout', 'where'),
  minutes: fc.nat({ max: 5 * 60 }),
});

const walk = fc.array(
  fc.record({
    changes: fc.array(change, { minLength: 1, maxLength: 6 }),
    pass: fc.constantFrom('none' as const, 'whole' as const, 'two' as const, 'killed' as const),
  }),
  { minLength: 2, maxLength: 4 },
);

describe('numbers of decisions by the hour', () => {
  test(
    'equal the decisions after changes, moves to other hours and kills',
    { timeout: 300_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(walk, async (steps) => {
          const tenant = `t-${randomUUID()}`;
          const base = Array.from({ length: 6 }, () => buildDecision({ tenant, rule: 'live' }));
          const current = new Map<string, Decision>();
          let attempts = 0;
          for (const { changes, pass } of steps) {
            for (const { index, minutes, ...fields } of changes) {
              attempts += 1;
              const target = base[index] ?? buildDecision();
              const evidenceUntil = START_MS + minutes * 60_000;
              const row = { ...target, ...fields, evidenceUntil, attempts };
              const before = current.get(`${index} ${row.scorer}`);
              // Evidence only grows.
              if (before === undefined || before.evidenceUntil <= evidenceUntil) {
                current.set(`${index} ${row.scorer}`, row);
                await it.store.decisions.write([row]);
              }
            }
            await PASSES[pass]();
          }
          await refreshAggregates(withNewDay(hours));
          const { rows, sinceMs } = await it.store.coverage.decided({
            sinceMs: START_MS + 1,
            tenant,
            pairs: PAIRS,
          });
          expect(sinceMs).toBe(START_MS);
          expect(inOrder(toCounts(rows))).toEqual(inOrder(countByHand([...current.values()], tenant)));
        }),
        { numRuns: 10 },
      );
    },
  );

  test('have the services and weights, and the present hour by its decisions', async () => {
    const presentMs = findPresentHour();
    const [past, present] = ['past', 'present'].map((scorer, hour) =>
      buildDecision({
        tenant: 'shops',
        rule: 'live',
        scorer,
        weight: 2.5,
        evidenceUntil: presentMs + (hour - 1) * 1_000,
      }),
    ) as [Decision, Decision];
    const run = { tenant: 'shops', serviceName: 'shop', agent: 'clerk' };
    await it.store.runs.write(
      [past, present].map(({ traceId, evidenceUntil }) =>
        buildRunRecord({ ...run, traceId, targetId: traceId, evidenceUntil }),
      ),
    );
    await it.store.decisions.write([past]);
    await refreshAggregates(hours);
    await it.store.decisions.write([present]);
    const query = { sinceMs: presentMs - 2 * HOUR_MS, tenant: 'shops', pairs: PAIRS, byService: true };
    const { rows } = await it.store.coverage.decided(query);
    expect(rows).toMatchObject([
      { scorer: 'past', service: 'shop', decisions: 1, weight: 2.5, unweighted: 0 },
      { scorer: 'present', service: 'shop', decisions: 1, weight: 2.5, unweighted: 0 },
    ]);
    const ofAgent = (agent: string, untilMs?: number) =>
      it.store.coverage.decided({ ...query, agent: [agent], untilMs });
    expect((await ofAgent('clerk')).rows).toEqual(rows);
    expect((await ofAgent('clerk', presentMs)).rows).toEqual(rows.slice(0, 1));
    expect((await ofAgent('guide')).rows).toEqual([]);
    const ofService = (name: string) => it.store.coverage.decided({ ...query, service: [name] });
    expect((await ofService('shop')).rows).toEqual(rows);
    expect((await ofService('bank')).rows).toEqual([]);
    const alone = await it.store.coverage.decided({ ...query, byService: false, sinceMs: presentMs });
    expect(alone).toMatchObject({ sinceMs: presentMs, rows: [{ scorer: 'present', service: '' }] });
  });

  test('give the funnel the counts of past hours by the start of the run, and each trace once', async () => {
    const tenant = 'funnel';
    const startedAt = START_MS - 2 * HOUR_MS + 60_000;
    const decide = (traceId: string, fields: Partial<Decision>) =>
      buildDecision({ tenant, rule: 'live', traceId, targetId: traceId, evidenceUntil: START_MS, ...fields });
    const [both, out, clerk, noAgent] = Array.from({ length: 4 }, newTraceId) as [
      string,
      string,
      string,
      string,
    ];
    await it.store.runs.write([
      ...[both, out, clerk].map((traceId) =>
        buildRunRecord({
          tenant,
          traceId,
          startedAt,
          evidenceUntil: START_MS,
          agent: traceId === clerk ? '' : 'guide',
          serviceName: 'clerk',
        }),
      ),
      buildRunRecord({ tenant, traceId: noAgent, startedAt, notScorable: 'no_agent_or_llm_span' }),
    ]);
    const failed = { status: 'failed', reason: 'timeout: 30 s' } as const;
    await it.store.decisions.write([
      decide(both, { scorer: 'tone', ...failed }),
      decide(both, { scorer: 'bias', ...failed }),
      decide(out, { scorer: WHOLE_RULE, status: 'sampled_out', reason: 'sampled_out', weight: null }),
      decide(clerk, { scorer: 'tone' }),
      decide(clerk, { scorer: 'tone', rule: 'backfill:1', ...failed }),
      decide(noAgent, { scorer: 'tone' }),
    ]);
    await refreshAggregates(hours);
    const range = { fromMs: startedAt, toMs: Date.now(), nowMs: Date.now() };
    const read = async (choice: { agent?: string[] }) => {
      const asked = { ...range, ...choice, tenant, pairs: PAIRS, live: [] };
      return buildFunnel(await it.store.funnel.count(asked), asked);
    };
    expect(await read({})).toMatchObject({
      since: new Date(startedAt - 60_000).toISOString(),
      runs: 3,
      arrived: 4,
      scored: 1,
      losses: [
        { reason: 'sampled_out', count: 1, runs: 1 },
        { reason: 'timeout', count: 2, runs: 1 },
      ],
      agents: [
        { agent: 'guide', eligible: 3, scored: 0 },
        { agent: 'clerk', eligible: 1, scored: 1 },
      ],
      trend: [{ bucket: new Date(startedAt - 60_000).toISOString(), eligible: 4, scored: 1 }],
    });
    expect(await read({ agent: ['clerk'] })).toMatchObject({ runs: 1, arrived: 1, losses: [] });
  });

  test('have an hour that ended after its last decision was written', async () => {
    const hourMs = NOW_MS - HOUR_MS;
    const evidenceUntil = hourMs + 60_000;
    const late = buildDecision({ tenant: 'busy', rule: 'live', evidenceUntil });
    await it.store.decisions.write([late]);
    await runCommand(
      it.options,
      `INSERT INTO decisions SELECT * REPLACE ('quiet' AS Tenant, fromUnixTimestamp64Milli(${hourMs + 120_000}) AS WrittenAt)
       FROM decisions WHERE TraceId = '${late.traceId}'`,
    );
    await refreshAggregates({ ...hours, doneUntil: async () => hourMs + HOUR_MS / 2 });
    const sql = "SELECT toUInt32(sum(Decisions)) AS n FROM decision_hours FINAL WHERE Tenant = 'quiet'";
    expect(await queryRows(it.options, sql)).toEqual([{ n: 1 }]);
  });

  test('have nothing of a purged trace, nor of a purged tenant', async () => {
    const [gone, kept] = ['one', 'two'].map(() =>
      buildDecision({ tenant: 'purged', rule: 'live', evidenceUntil: START_MS }),
    ) as [Decision, Decision];
    await it.store.decisions.write([gone, kept]);
    await refreshAggregates(hours);
    const count = async () => {
      const sql = "SELECT toUInt32(sum(Decisions)) AS n FROM decision_hours FINAL WHERE Tenant = 'purged'";
      const [row] = await queryRows<{ n: number }>(it.options, sql);
      return row?.n;
    };
    expect(await count()).toBe(2);
    await purge({ kind: 'trace', id: gone.traceId, tenant: 'purged' });
    await refreshAggregates(hours);
    expect(await count()).toBe(1);
    await purge({ kind: 'tenant', id: 'purged', tenant: undefined });
    expect(await count()).toBe(0);
  });
});

async function purge(subject: Parameters<TestStore['store']['purges']['collect']>[1]): Promise<void> {
  const { purges } = it.store;
  const jobId = randomUUID();
  await purges.collect(jobId, subject);
  await purges.complete(jobId, undefined);
  await purges.remove(jobId, Object.keys(await purges.count(jobId)), AbortSignal.timeout(30_000));
}

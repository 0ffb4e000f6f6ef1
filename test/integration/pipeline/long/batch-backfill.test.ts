import { describe, expect, test } from 'vitest';
import { describeBatches, TRACES } from '../../../support/scoring/batch-tests.ts';
import { endOfJob, QUESTIONS_A_TRACE } from '../../../support/scoring/batch-world.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { until } from '../../../support/until.ts';

const world = describeBatches();

describe('a backfill with batches', () => {
  test('asks each question of many traces in one batch, at half price, and leaves no file behind', async () => {
    const job = await endOfJob(world.store, await (await world.startProcess()).open());

    expect(job).toMatchObject({
      status: 'done',
      report: { matched: TRACES, scored: TRACES, skipped: {}, failed: {}, remaining: 0 },
    });
    await world.expectExact();
    expect(world.server.batches.map(({ customIds }) => customIds.length)).toEqual([TRACES, TRACES, TRACES]);
    expect(new Set(world.server.batches.map(({ metadata }) => metadata['spanscore_job']))).toEqual(
      new Set([job.id]),
    );
    const scores = await world.store.scores.list({ limit: 100 });
    expect(job.costUsd).toBeCloseTo(
      scores.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0),
      6,
    );
    const [calls] = await queryRows<{ calls: string; usd: number }>(
      world.base.options,
      `SELECT count() AS calls, sum(CostUsd) AS usd FROM ${world.base.options.database}.judge_calls`,
    );
    expect(calls).toMatchObject({ calls: String(TRACES * QUESTIONS_A_TRACE) });
    expect(calls?.usd).toBeCloseTo(job.costUsd, 6);
  });

  test('outlives lost replies of the first calls of each kind, and makes no batch twice', async () => {
    world.server.fault = ({ count }) => (count === 1 ? 'lost-reply' : undefined);

    const job = await endOfJob(world.store, await (await world.startProcess()).open());

    expect(job).toMatchObject({ status: 'done', report: { scored: TRACES, failed: {} } });
    await world.expectExact();
  });
});

/** The twelve first questions of these tests are expected to cost 0.55 USD each. */
const CAP_USD = 5;
const CAPPED = {
  budgets: { total: { perDay: CAP_USD } },
  rules: [
    { name: 'one', scorers: ['hallucination'] },
    { name: 'two', scorers: ['faithfulness'] },
  ],
};

describe('a budget that batches share', () => {
  /** Notes what is booked at each call that makes a batch. Batches do not end. */
  function watchBooked(): { readonly booked: number[] } {
    const booked: number[] = [];
    world.server.end = () => undefined;
    world.server.fault = async ({ name }) => {
      if (name === 'POST /batches') {
        const range = { fromMs: 0, toMs: Date.now() + 86_400_000, openSinceMs: 0 };
        const total = await world.store.judgeCalls.readSpending({ kind: 'total', name: '' }, range);
        booked.push(total.bookedUsd);
      }
      return undefined;
    };
    return { booked };
  }

  /** Sums the expected costs of questions at the provider. */
  async function sumSent(ids: readonly string[]): Promise<number> {
    const [sum] = await queryRows<{ usd: number }>(
      world.base.options,
      `SELECT sum(EstimatedUsd) AS usd FROM ${world.base.options.database}.judge_batch_requests FINAL
       WHERE CustomId IN ('${ids.join("','")}')`,
    );
    return sum?.usd ?? 0;
  }

  test('is not exceeded by the questions of two rules of one backfill', async () => {
    const { booked } = watchBooked();
    const process = await world.startProcess(CAPPED);
    await process.open({ scorers: undefined, rules: ['one', 'two'] });
    await until(() => booked.length > 0 && world.server.batches.length > 0);

    const usd = await sumSent(world.server.batches.flatMap(({ customIds }) => customIds));
    expect(usd).toBeLessThanOrEqual(CAP_USD);
    expect(usd).toBeGreaterThan(CAP_USD - 1);
    expect(booked.at(-1)).toBeCloseTo(usd, 6);
  });

  test('is not exceeded by two backfills at once, and the one without money is told why', async () => {
    const { booked } = watchBooked();
    const process = await world.startProcess(CAPPED);
    const ids = [
      await process.open({ scorers: undefined, rules: ['one'] }),
      await process.open({ scorers: undefined, rules: ['two'] }),
    ];
    await until(() => world.server.batches.length === 2);

    expect(Math.max(...booked)).toBeLessThanOrEqual(CAP_USD);
    const usd = await sumSent(world.server.batches.flatMap(({ customIds }) => customIds));
    expect(usd).toBeLessThanOrEqual(CAP_USD);
    expect(usd).toBeGreaterThan(CAP_USD - 1);
    world.server.end = () => ({});
    await until(async () => {
      const jobs = await Promise.all(ids.map((id) => world.store.jobs.find(id)));
      return jobs.some((job) => Object.keys(job?.report['failed'] ?? {}).includes('budget_exhausted'));
    });
  });
});

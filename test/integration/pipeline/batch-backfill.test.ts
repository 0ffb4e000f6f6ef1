import { describe, expect, test } from 'vitest';
import { describeBatches, TRACES } from '../../support/scoring/batch-tests.ts';
import { endOfJob, QUESTIONS_A_TRACE } from '../../support/scoring/batch-world.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';

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

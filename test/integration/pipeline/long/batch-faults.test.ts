import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import type { BatchChunk, BatchRequest } from '../../../../src/store/contracts/judge-batches.ts';
import type { SpendEntry } from '../../../../src/store/contracts/stores.ts';
import type { CallFault, LineFate, ServedBatch } from '../../../support/fakes/batch-server.ts';
import { describeBatches, TRACES, type BatchTest } from '../../../support/scoring/batch-tests.ts';
import { endOfJob, QUESTIONS_A_TRACE } from '../../../support/scoring/batch-world.ts';
import { lateToolSpan, store as ingest } from '../../../support/store/stored-agent.ts';
import { until } from '../../../support/until.ts';

const world = describeBatches();

const readScores = ({ store }: BatchTest) => store.scores.list({ limit: 100 });
const countChunks = (batches: readonly ServedBatch[]) =>
  new Set(batches.map(({ metadata }) => metadata['spanscore_chunk'])).size;

describe('a backfill with batches', () => {
  test.each<CallFault>(['refused', 'lost-reply', 'broken'])(
    'outlives the fault "%s" of the first two calls of each kind, and makes no batch twice',
    async (fault) => {
      world.server.fault = ({ count }) => (count <= 2 ? fault : undefined);

      const job = await endOfJob(world.store, await (await world.startProcess()).open());

      expect(job).toMatchObject({ status: 'done', report: { scored: TRACES, failed: {} } });
      await world.expectExact();
      expect(countChunks(world.server.batches)).toBe(world.server.batches.length);
    },
  );

  test('outlives failures of the store at each write, before and after the rows are there', async () => {
    const failures = new Map<string, number>();
    const failing = <Args extends unknown[]>(name: string, write: (...args: Args) => Promise<void>) =>
      async function (...args: Args): Promise<void> {
        const count = (failures.get(name) ?? 0) + 1;
        failures.set(name, count);
        // Of ten writes, the first, fourth and seventh fail before the rows are written, the second, fifth and eighth after it.
        const part = count > 9 ? 0 : count % 3;
        if (part !== 1) {
          await write(...args);
        }
        if (part !== 0) {
          throw new StoreUnavailableError(`${name} ${count} failed`);
        }
      };
    const process = await world.startProcess({}, (store) => ({
      ...store,
      judgeBatches: {
        ...store.judgeBatches,
        writeChunk: failing('chunk', (chunk: BatchChunk) => store.judgeBatches.writeChunk(chunk)),
        writeRequests: failing('requests', (rows: readonly BatchRequest[]) =>
          store.judgeBatches.writeRequests(rows),
        ),
      },
      judgeCalls: {
        ...store.judgeCalls,
        spend: failing('spend', (entries: readonly SpendEntry[]) => store.judgeCalls.spend(entries)),
      },
    }));

    expect(await endOfJob(world.store, await process.open())).toMatchObject({
      status: 'done',
      report: { scored: TRACES, failed: {} },
    });
    await world.expectExact();
    expect(countChunks(world.server.batches)).toBe(world.server.batches.length);
  });

  test('asks again what expired, and what a batch that failed as a whole had', async () => {
    world.server.end = (_, index) =>
      index === 0
        ? { status: 'failed' }
        : index === 1
          ? { status: 'expired', line: (_id, line) => (line < 2 ? 'expire' : line === 2 ? 'omit' : 'answer') }
          : {};

    const job = await endOfJob(world.store, await (await world.startProcess()).open());

    expect(job).toMatchObject({ status: 'done', report: { scored: TRACES, failed: {} } });
    await world.expectExact();
    const [failed, expired, next] = world.server.batches;
    expect(expired?.customIds).toEqual(failed?.customIds);
    expect(next?.customIds).toEqual(expect.arrayContaining(expired?.customIds.slice(0, 3) ?? []));
  });

  test('asks again after lines that are no JSON, and after overloads of the provider', async () => {
    world.server.end = (_, index) => ({
      line: (_id, line) =>
        index > 0 ? 'answer' : line === 0 ? 'garbage' : line === 1 ? { httpStatus: 500 } : 'answer',
    });

    const job = await endOfJob(world.store, await (await world.startProcess()).open());

    expect(job).toMatchObject({ status: 'done', report: { scored: TRACES, failed: {} } });
    expect(await readScores(world)).toHaveLength(TRACES);
    // The answer of the unreadable line was paid, and lost.
    expect(world.server.paid()).toHaveLength(TRACES * QUESTIONS_A_TRACE + 1);
  });

  test('makes up no score where the provider refuses a question for good, or never answers it', async () => {
    const fates = new Map<string, LineFate>();
    world.server.end = (batch) => {
      if (fates.size === 0) {
        fates.set(batch.customIds[0] ?? '', { httpStatus: 400 });
        fates.set(batch.customIds[1] ?? '', 'expire');
      }
      return { line: (id) => fates.get(id) ?? 'answer' };
    };

    const job = await endOfJob(world.store, await (await world.startProcess()).open());

    expect(job).toMatchObject({ status: 'done', report: { scored: TRACES - 2 } });
    expect(job.report['failed']).toMatchObject({ judge_unavailable: 1 });
    expect(await readScores(world)).toHaveLength(TRACES - 2);
    expect(world.server.files.size).toBe(0);
  });

  test('goes on in another process, which takes over the batch under way', async () => {
    world.server.end = () => undefined;
    const first = await world.startProcess();
    const id = await first.open();
    await until(() => world.server.batches.length === 1);
    await first.stop();
    world.server.end = () => ({});
    await world.startProcess();

    expect(await endOfJob(world.store, id)).toMatchObject({ status: 'done', report: { scored: TRACES } });
    await world.expectExact();
  });

  test('that is cancelled ends its batch; its replies serve the next one', async () => {
    world.server.end = () => undefined;
    const process = await world.startProcess();
    const id = await process.open();
    await until(() => world.server.batches.length === 1);
    await world.store.jobs.order(id, 'cancel');
    await until(() => world.server.batches[0]?.status === 'cancelled' && world.server.files.size === 0);
    expect(world.server.paid()).toHaveLength(TRACES / 2);
    world.server.end = () => ({});

    const again = await endOfJob(world.store, await process.open());

    expect(again).toMatchObject({ status: 'done', report: { scored: TRACES } });
    await world.expectExact();
    const [cancelled, next] = world.server.batches;
    const unanswered = cancelled?.customIds.filter((each) => !cancelled.paid.includes(each)) ?? [];
    expect(next?.customIds).toEqual(expect.arrayContaining(unanswered));
  });

  test('drops the replies on evidence that has changed', async () => {
    let isReleased = false;
    world.server.end = (_, index) => (index > 0 || isReleased ? {} : undefined);
    const id = await (await world.startProcess()).open();
    await until(() => world.server.batches.length === 1);
    await ingest(world.store, [lateToolSpan(world.traceIds[0]!)]);
    isReleased = true;

    expect(await endOfJob(world.store, id)).toMatchObject({ status: 'done' });
    expect(new Set((await readScores(world)).map(({ traceId }) => traceId))).toEqual(new Set(world.traceIds));
    // The first question about the changed trace was asked again.
    expect(world.server.paid()).toHaveLength(TRACES * QUESTIONS_A_TRACE + 1);
  });

  test('holds the money of the backfill: what it does not pay for is skipped', async () => {
    const free = await world.startProcess();
    const whole = await endOfJob(world.store, await free.open());
    await world.begin();
    const process = await world.startProcess();

    const job = await endOfJob(
      world.store,
      await process.open({ limits: { maxCostUsd: whole.costUsd / 2 } }),
    );

    expect(job.status).toBe('done');
    expect(job.report['scored']).toBeLessThan(TRACES);
    expect(job.report['skipped']).toMatchObject({ max_cost: expect.any(Number) });
  });

  test('is refused for a provider without batches, and with a concurrency', async () => {
    const process = await world.startProcess();
    await expect(process.open({ limits: { concurrency: 2 } })).rejects.toThrow(/concurrency: cannot/);
    const online = await world.startProcess({
      judges: { default: 'local/judge', providers: { local: { baseURL: world.server.baseUrl } } },
    });
    await expect(online.open()).rejects.toThrow(/judges\.providers\.local\.batch: openai/);
  });
});

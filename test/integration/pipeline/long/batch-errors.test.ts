import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { followJob } from '../../../../src/jobs/follow-job.ts';
import { describeBatches, TRACES } from '../../../support/scoring/batch-tests.ts';
import { endOfJob } from '../../../support/scoring/batch-world.ts';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { until } from '../../../support/until.ts';

const world = describeBatches();

describe('a backfill with batches', () => {
  test('says why its batches are not sent or have no replies, and what to do, until they have', async () => {
    let said: unknown = null;
    world.server.fault = ({ name }) =>
      name === 'POST /files' && said === null ? { status: 401 } : undefined;
    world.server.end = (_, index) => (index === 0 ? { status: 'failed' } : {});
    const id = await (await world.startProcess()).open();

    const job = await followJob(world.store.jobs, id, {
      onChange: ({ report }) => (said ??= report['batchError'] ?? null),
      signal: new AbortController().signal,
    });

    expect(said).toMatch(/answered 401 to POST \/files.*check judges\.providers\.local\.apiKey/);
    expect(job).toMatchObject({ status: 'done', report: { scored: TRACES, batchError: null } });
    const [chunk] = await queryRows<{ Error: string }>(
      world.base.options,
      `SELECT Error FROM ${world.base.options.database}.judge_batches FINAL WHERE BatchId = '${world.server.batches[0]?.id}'`,
    );
    expect(chunk?.Error).toBe(
      `the batch ended as failed; ${TRACES} of ${TRACES} questions have no reply; the file is invalid; the questions go into another batch, up to three in all; if that fails, too: cancel the backfill, and start it without --batch`,
    );
  });

  test('names the refusal of its last batch at its end, and a later backfill asks again', async () => {
    world.server.fault = ({ name }) => (name === 'POST /batches' ? { status: 400 } : undefined);
    const process = await world.startProcess();
    const first = await endOfJob(world.store, await process.open());
    world.server.fault = () => undefined;

    expect(first).toMatchObject({
      status: 'done',
      report: {
        scored: 0,
        failed: { judge_unavailable: TRACES },
        batchError: expect.stringMatching(
          /^6 of 6 questions have no reply; .* answered 400 to POST \/batches: .*start it without --batch$/,
        ),
      },
    });
    expect(await endOfJob(world.store, await process.open())).toMatchObject({
      status: 'done',
      report: { scored: TRACES, failed: {}, batchError: null },
    });
    await world.expectExact();
  });

  test('names a process that keeps the batches and does not know the provider', async () => {
    const other = {
      judges: {
        default: 'other/judge',
        providers: { other: { baseURL: 'http://127.0.0.1:1', batch: 'openai' } },
      },
    };
    const keeper = await world.startProcess(other);
    await sleep(500);
    const id = await (await world.startProcess()).open();
    const readError = async () => (await world.store.jobs.find(id))?.report['batchError'];
    await until(async () => typeof (await readError()) === 'string');
    expect(await readError()).toMatch(
      /no batches for the provider "local": set judges\.providers\.local\.batch/,
    );
    await keeper.stop();

    expect(await endOfJob(world.store, id)).toMatchObject({ status: 'done', report: { batchError: null } });
  });
});

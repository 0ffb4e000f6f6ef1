import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { describeBatches, TRACES, TURNS } from '../../../support/scoring/batch-tests.ts';
import { BATCHED_SCORER, endOfJob, QUESTIONS_A_TRACE } from '../../../support/scoring/batch-world.ts';
import { findTexts } from '../../../support/store/find-texts.ts';
import { until } from '../../../support/until.ts';

const world = describeBatches();

/** Time after which a session is idle, with a margin, milliseconds. */
const IDLE_MS = 1_500;

const SESSION_RULE = {
  rules: [{ name: 'chats', target: 'session', scorers: [BATCHED_SCORER] }],
  readiness: { decisionWait: '1ms', session: { idle: '1s' } },
};

const readScores = () => world.store.scores.list({ limit: 100 });

describe('a backfill with batches', () => {
  test('asks about sessions in batches', async () => {
    const process = await world.startProcess(SESSION_RULE);
    await sleep(IDLE_MS);

    const job = await endOfJob(world.store, await process.open({ scorers: undefined }));

    const sessions = TRACES / TURNS;
    expect(job).toMatchObject({ status: 'done', report: { matched: TRACES, sessions, scored: sessions } });
    expect(await readScores()).toMatchObject(
      Array.from({ length: sessions }, () => ({ target: 'session', source: 'backfill' })),
    );
    expect(world.server.batches.map(({ customIds }) => customIds.length)).toEqual(
      Array.from({ length: QUESTIONS_A_TRACE }, () => sessions),
    );
    expect(new Set(world.server.paid()).size).toBe(world.server.paid().length);
  });

  test.each([
    ['its runs', {}, { asked: undefined, left: TRACES - TURNS }],
    ['the session', SESSION_RULE, { asked: { scorers: undefined }, left: TRACES / TURNS - 1 }],
  ])(
    'ends its batch when a session was purged, and leaves no question about %s',
    async (_, more, { asked, left }) => {
      world.server.end = () => undefined;
      const process = await world.startProcess(more);
      await sleep(IDLE_MS);
      const id = await process.open(asked);
      await until(() => world.server.batches[0]?.status === 'in_progress');
      const purge = await process.purge({ kind: 'session', id: 'chat-0' });
      await until(() => world.server.batches[0]?.status === 'cancelled');
      world.server.end = () => ({});

      expect(await endOfJob(world.store, id)).toMatchObject({
        status: 'done',
        report: { scored: left, failed: {}, batchError: null },
      });
      expect(await endOfJob(world.store, purge)).toMatchObject({
        status: 'done',
        report: { rows: { judge_batch_requests: expect.any(Number) } },
      });
      expect(world.server.files.size).toBe(0);
      expect(await readScores()).toHaveLength(left);
      const texts = [...world.traceIds.slice(0, TURNS), 'chat-0'];
      expect(await findTexts(world.base.options, texts)).toEqual([]);
      // The other questions of the cancelled batch were asked again, those with a reply not.
      expect(new Set(world.server.paid()).size).toBe(world.server.paid().length);
    },
  );
});

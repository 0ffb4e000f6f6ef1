import { describe, expect, test } from 'vitest';
import { createOtlpExporters } from '../../../../src/delivery/exporters/otlp.ts';
import { revivedScore } from '../../../../src/delivery/deliver-scores.ts';
import type { ScoreExporter } from '../../../../src/delivery/exporters/exporter.ts';
import { DAY_MS } from '../../../../src/domain/durations.ts';
import type { Score } from '../../../../src/domain/score.ts';
import { openDatabase } from '../../../../src/store/open-database.ts';
import { scoreRows } from '../../../../src/store/table-rows.ts';
import { toDateTime } from '../../../../src/store/values.ts';
import { aWebhook } from '../../../support/exports/export-process.ts';
import { countDelivered, describeExports, idOfDelivery } from '../../../support/exports/export-world.ts';
import { buildScore } from '../../../support/store/store-rows.ts';

const world = describeExports();
const { start, write } = world;

function receivedIds(): string[] {
  return world.receiver.requests.map(({ headers }) => String(headers['webhook-id']));
}

test('every revision in the store is sent once, over restarts, and withdrawn scores are not', async () => {
  const exporters = () =>
    createOtlpExporters({ endpoint: world.receiver.url, as: ['span-event'], version: '0.1.0', attempts: 3 });
  const first = await start(exporters());
  const score = buildScore({ evidenceUntil: 1000, revision: 1 });
  const withdrawn = { ...buildScore({ evidenceUntil: 1000 }), isDeleted: true };
  await world.store.scores.write([score, withdrawn]);
  await expect.poll(() => countDelivered(first, 'otlp-span-event')).toBe(1);
  await world.store.scores.write([{ ...score, evidenceUntil: 2000, revision: 2, score: 0.5 }]);
  await expect.poll(() => countDelivered(first, 'otlp-span-event')).toBe(2);
  await first.stop();

  const late = buildScore({ evidenceUntil: 3000, source: 'human' });
  await world.store.scores.write([late]);
  const again = await start(exporters());
  await expect.poll(() => countDelivered(again, 'otlp-span-event')).toBe(1);
  await again.stop();

  expect(world.receiver.requests).toHaveLength(3);
  expect(world.receiver.requests[2]?.body).toContain(late.scoreId);
  expect(world.receiver.requests.map(({ body }) => body).join()).not.toContain(withdrawn.scoreId);
});

test('a row with older evidence that commits late is not sent', async () => {
  const hook = aWebhook(world.receiver.url, { name: 'late-row' });
  const first = await start([hook]);
  const current = buildScore({ evidenceUntil: 2000, revision: 2 });
  await world.store.scores.write([current]);
  await expect.poll(receivedIds).toEqual([idOfDelivery(current)]);

  await world.store.scores.write([{ ...current, evidenceUntil: 1000, revision: 1 }]);
  const [marker] = await write(1);
  await expect.poll(receivedIds).toContain(idOfDelivery(marker!));
  await first.stop();

  expect(receivedIds()).toEqual([idOfDelivery(current), idOfDelivery(marker!)]);
});

describe('an exporter that is told of deletions', () => {
  /** Records what it is sent: the id, the revision, and whether the score was deleted. */
  function anExporter(name: string, onSend: () => void = () => undefined) {
    const sent: string[] = [];
    const exporter: ScoreExporter = {
      name,
      maxBatch: 1,
      attempts: 1,
      hasDeletions: true,
      send: async (scores) => {
        sent.push(
          ...scores.map((score) => `${idOfDelivery(score)} ${score.isDeleted ? 'deleted' : 'written'}`),
        );
        onSend();
        return { kind: 'delivered' };
      },
    };
    return { exporter, sent };
  }

  test('gets each once, also when the score came again under the same revision', async () => {
    const { exporter, sent } = anExporter('deleting');
    const process = await start([exporter]);
    const evidenceUntil = Date.now();
    const score = buildScore({ evidenceUntil, revision: 1 });
    const id = idOfDelivery(score);
    const steps = [
      {},
      { isDeleted: true },
      { evidenceUntil: evidenceUntil + 1 },
      { isDeleted: true, evidenceUntil: evidenceUntil + 2 },
    ];
    for (const [at, step] of steps.entries()) {
      await world.store.scores.write([{ ...score, ...step }]);
      await expect.poll(() => countDelivered(process, 'deleting')).toBe(at + 1);
    }
    await process.stop();
    const again = await start([exporter]);
    const [marker] = await write(1);
    await expect.poll(() => countDelivered(again, 'deleting')).toBe(1);
    expect(sent).toEqual([
      `${id} written`,
      `${id} deleted`,
      `${id} written`,
      `${id} deleted`,
      `${idOfDelivery(marker!)} written`,
    ]);
  });

  test('gets the deletion of a score that it was sending when its process was killed', async () => {
    const { exporter, sent } = anExporter('killed', () => first.kill());
    const first = await start([exporter]);
    const [score] = await write(1);
    await expect.poll(() => sent.length).toBe(1);
    await world.store.scores.write([{ ...score!, isDeleted: true }]);
    await start([exporter]);
    await expect
      .poll(() => sent)
      .toEqual([`${idOfDelivery(score!)} written`, `${idOfDelivery(score!)} deleted`]);
  });
});

test('an exporter that is new to the store gets no history', async () => {
  const [old] = await write(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  await start([aWebhook(world.receiver.url, { name: 'new-hook' })]);
  const [fresh] = await write(1);

  await expect.poll(receivedIds).toContain(idOfDelivery(fresh!));
  expect(receivedIds()).not.toContain(idOfDelivery(old!));
});

test('a receiver that was down for three days gets all scores of the three days', async () => {
  const threeDaysAgo = toDateTime(Date.now() - 3 * DAY_MS);
  const database = openDatabase(world.options);
  const scores = Array.from({ length: 30 }, () => buildScore());
  await database.insertRows('progress', [
    { Kind: 'export', Name: 'long-outage', SeenAt: threeDaysAgo, DoneUntil: threeDaysAgo },
  ]);
  await database.insertRows(
    'scores',
    scores.map((score) => ({ ...scoreRows.encode(score), WrittenAt: threeDaysAgo })),
  );
  await database.close();
  world.receiver.answer(503);
  const process = await start([aWebhook(world.receiver.url, { name: 'long-outage', attempts: 1 })]);
  await expect.poll(() => process.loop.counts().get('long-outage')?.failures).toBeGreaterThanOrEqual(6);
  const before = world.receiver.requests.length;
  world.receiver.answer(200);

  const listMissing = () =>
    scores.map(idOfDelivery).filter((id) => !receivedIds().slice(before).includes(id));
  await expect.poll(listMissing).toEqual([]);
  expect(process.loop.counts().get('long-outage')?.dead).toBe(0);
});

describe('one score that the receiver does not take', () => {
  test.each([400, 500])('with HTTP %i lets the others pass and becomes a dead letter', async (status) => {
    const name = `poisoned-${status}`;
    const process = await start([aWebhook(world.receiver.url, { name, attempts: 3 })]);
    const [poison, ...good] = await write(20, ([first]) =>
      world.receiver.answer(({ body }) => (body.includes(first!.scoreId) ? status : 200)),
    );

    await expect.poll(() => countDelivered(process, name)).toBe(19);
    // Other scores keep coming; each that is delivered shows that the receiver is there.
    await expect
      .poll(async () => {
        await write(1);
        return process.loop.counts().get(name)?.dead;
      })
      .toBe(1);

    for (const score of good) {
      expect(receivedIds().filter((id) => id === idOfDelivery(score))).toHaveLength(1);
    }
    const letters = (await world.store.deadLetters.list({ limit: 100 })).filter(
      ({ source }) => source === name,
    );
    expect(letters).toMatchObject([{ signal: 'scores', attempts: 3, code: 'delivery_failed' }]);

    world.receiver.answer(200);
    const sent = receivedIds().filter((id) => id === idOfDelivery(poison!)).length;
    await world.store.scoreFeed.replay(name, revivedScore(letters[0]!.body));
    await expect.poll(() => receivedIds().filter((id) => id === idOfDelivery(poison!)).length).toBe(sent + 1);
  });

  test('does not come again once its replay was delivered', async () => {
    const name = 'replayed';
    const process = await start([aWebhook(world.receiver.url, { name, attempts: 1 })]);
    world.receiver.answer(400);
    const [score] = await write(1);
    await expect.poll(() => process.loop.counts().get(name)?.dead).toBe(1);
    world.receiver.answer(200);
    const [letter] = (await world.store.deadLetters.list({ limit: 100 })).filter(
      ({ source }) => source === name,
    );
    await world.store.scoreFeed.replay(name, revivedScore(letter!.body));
    await expect.poll(() => countDelivered(process, name)).toBe(1);

    const [marker] = await write(1);
    await expect.poll(receivedIds).toContain(idOfDelivery(marker!));

    expect(receivedIds().filter((id) => id === idOfDelivery(score!))).toHaveLength(2);
    // The receiver has a score before the exporter has stored its delivery.
    await expect
      .poll(async () => (await world.store.scoreFeed.readPending(name, 10, false)).pending)
      .toEqual([]);
  });

  test('in a batch is found by halving, and the others of the batch are sent', async () => {
    const exporters = createOtlpExporters({
      endpoint: world.receiver.url,
      as: ['log'],
      version: '0.1.0',
      attempts: 2,
    });
    const process = await start(exporters);
    await write(64, (scores) =>
      world.receiver.answer(({ body }) => (body.includes(scores[20]!.scoreId) ? 500 : 200)),
    );

    await expect.poll(() => countDelivered(process, 'otlp-log')).toBe(63);
    await expect
      .poll(async () => {
        await write(1);
        return process.loop.counts().get('otlp-log')?.dead;
      })
      .toBe(1);
  });
});

test('the read stays near the end when nothing is new, and goes on from there after a restart', async () => {
  const { scoreFeed } = world.store;
  await scoreFeed.register('progress');
  const [score] = await write(1);
  const page = await scoreFeed.readPending('progress', 10, false);
  expect(page.pending.map(({ scoreId }) => scoreId)).toEqual([score!.scoreId]);
  await scoreFeed.record('progress', [{ ...page.pending[0]!, outcome: 'delivered' }]);
  await scoreFeed.advance('progress', page.readAtMs);
  await scoreFeed.register('progress');

  const after = await scoreFeed.readPending('progress', 10, false);
  expect(after.pending).toEqual([]);
  expect(after.doneUntilMs).toBe(page.readAtMs);
  await scoreFeed.advance('progress', page.readAtMs - 60_000);
  expect((await scoreFeed.readPending('progress', 10, false)).doneUntilMs).toBe(page.readAtMs);
});

test('no score is lost after a step back of the clock of the store', async () => {
  const name = 'clock-step';
  const process = await start([aWebhook(world.receiver.url, { name })]);
  const [before] = await write(1);
  await expect.poll(receivedIds).toContain(idOfDelivery(before!));
  await world.store.scoreFeed.advance(name, Date.now() + 3_600_000);

  const [after] = await write(1);
  await expect.poll(receivedIds).toContain(idOfDelivery(after!));
  await process.stop();

  expect(receivedIds().filter((id) => id === idOfDelivery(before!))).toHaveLength(1);
});

test('a repeat beside a first try that is still under way has the same id, and other scores pass', async () => {
  const name = 'slow-hook';
  const process = await start([aWebhook(world.receiver.url, { name })]);
  const countTries = (score: Score) => receivedIds().filter((id) => id === idOfDelivery(score)).length;
  const [slow, ...others] = await write(5, ([first]) =>
    world.receiver.answer(({ body }) =>
      body.includes(first!.scoreId) && countTries(first!) === 1 ? 'never' : 200,
    ),
  );

  await expect.poll(() => countDelivered(process, name), { timeout: 20_000 }).toBe(5);

  expect(countTries(slow!)).toBe(2);
  for (const score of others) {
    expect(receivedIds().filter((id) => id === idOfDelivery(score))).toHaveLength(1);
  }
});

// The last test: its scores are pending for all exporters that begin in the past.
test('more replaced scores than a page has do not hold up the others', async () => {
  const name = 'many-replaced';
  const database = openDatabase(world.options);
  await database.command('SYSTEM STOP MERGES scores');
  const delivered = new Set<string>();
  const exporter: ScoreExporter = {
    name,
    maxBatch: 500,
    attempts: 1,
    send: async (scores) => {
      scores.forEach((score) => delivered.add(idOfDelivery(score)));
      return { kind: 'delivered' };
    },
  };
  await world.store.scoreFeed.register(name);
  const former = await write(2_500);
  const next = former.map((score) => ({ ...score, revision: score.revision + 1 }));
  await world.store.scores.write(next);
  await start([exporter]);
  try {
    await expect.poll(() => delivered.size).toBe(next.length);
    expect(delivered).toEqual(new Set(next.map(idOfDelivery)));
  } finally {
    await database.command('SYSTEM START MERGES scores');
    await database.close();
  }
});

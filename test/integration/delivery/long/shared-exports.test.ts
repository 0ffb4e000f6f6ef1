import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Score } from '../../../../src/domain/score.ts';
import { aWebhook, type ExportProcess } from '../../../support/exports/export-process.ts';
import { countDelivered, describeExports, idOfDelivery } from '../../../support/exports/export-world.ts';

const world = describeExports();
const { write } = world;

function start(...names: string[]): Promise<ExportProcess> {
  return world.start(names.map((name) => aWebhook(`${world.receiver.url}/${name}`, { name })));
}

function receivedIds(name: string): string[] {
  return world.receiver.requests
    .filter(({ path }) => path === `/${name}`)
    .map(({ headers }) => String(headers['webhook-id']));
}

test('two processes send each score once, and the one that came first sends all of them', async () => {
  const first = await start('calm');
  const warmUp = await write(1);
  await expect.poll(() => receivedIds('calm')).toHaveLength(1);
  const second = await start('calm');

  const scores = warmUp;
  for (let round = 0; round < 8; round += 1) {
    scores.push(...(await write(3)));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }

  await expect.poll(() => receivedIds('calm').length).toBeGreaterThanOrEqual(scores.length);
  expect(receivedIds('calm').sort()).toEqual(scores.map(idOfDelivery).sort());
  await expect.poll(() => countDelivered(first, 'calm')).toBe(scores.length);
  expect(countDelivered(second, 'calm')).toBe(0);
});

test('two processes that start at the same time send each score once', async () => {
  const pair = await Promise.all([start('together'), start('together')]);
  const scores = await write(40);

  await expect.poll(() => receivedIds('together').length).toBeGreaterThanOrEqual(40);
  await Promise.all(pair.map((each) => each.stop()));
  expect(receivedIds('together').sort()).toEqual(scores.map(idOfDelivery).sort());
});

test('an exporter that only one of two processes has is sent by that process', async () => {
  const first = await start('old-hook');
  const second = await start('old-hook', 'added-hook');
  const scores = await write(10);

  await expect.poll(() => receivedIds('added-hook').length).toBe(10);
  await expect.poll(() => receivedIds('old-hook').length).toBe(10);
  await expect.poll(() => countDelivered(first, 'old-hook')).toBe(10);
  await expect.poll(() => countDelivered(second, 'added-hook')).toBe(10);
  expect(receivedIds('added-hook').sort()).toEqual(scores.map(idOfDelivery).sort());
});

test('a process that stops sends what is stored, and a waiting one goes on at once', async () => {
  const first = await start('handover');
  const [warmUp] = await write(1);
  await expect.poll(() => receivedIds('handover')).toEqual([idOfDelivery(warmUp!)]);
  world.receiver.requests.length = 0;
  const second = await start('handover');
  const stored = await write(100);
  await first.stop();
  expect(receivedIds('handover').sort()).toEqual(stored.map(idOfDelivery).sort());

  const from = performance.now();
  const later = await write(5);
  await expect.poll(() => countDelivered(second, 'handover')).toBe(5);

  // Well within the time after which a silent process counts as dead.
  expect(performance.now() - from).toBeLessThan(2_000);
  expect(receivedIds('handover').sort()).toEqual([...stored, ...later].map(idOfDelivery).sort());
});

test('after a kill in the middle of a page another process sends the rest under the same ids', async () => {
  const first = await start('killed');
  await write(1);
  await expect.poll(() => receivedIds('killed')).toHaveLength(1);
  const second = await start('killed');
  // The sixteenth request is the last of the first process: it gets no answer, and the process has ended.
  world.receiver.answer(() => {
    const count = receivedIds('killed').length;
    if (count === 16) {
      first.kill();
    }
    return count === 16 ? 'never' : 200;
  });
  const scores = await write(40);

  const listMissing = () => scores.map(idOfDelivery).filter((id) => !receivedIds('killed').includes(id));
  await expect.poll(listMissing, { timeout: 20_000 }).toEqual([]);
  expect(countDelivered(second, 'killed')).toBeGreaterThanOrEqual(25);
});

test('a process that stalled for long drops the work it began, and a later one keeps the exporter', async () => {
  const hanging = Promise.withResolvers<void>();
  let isHanging = false;
  const ids: string[] = [];
  const slow = createServer((request, response) => {
    request.resume().on('end', () => {
      ids.push(String(request.headers['webhook-id']));
      const reply = () => response.writeHead(200).end();
      if (isHanging) {
        isHanging = false;
        void hanging.promise.then(reply);
      } else {
        reply();
      }
    });
  });
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const hook = () => ({ ...aWebhook(url, { name: 'stalled' }) });
  const patient = { ...hook(), deliver: withoutTimeout(url) };
  const first = await world.start([patient]);
  const [warmUp] = await write(1);
  await expect.poll(() => ids).toEqual([idOfDelivery(warmUp!)]);
  const second = await world.start([hook()]);
  await new Promise((resolve) => setTimeout(resolve, 500));

  isHanging = true;
  const scores = await write(20);
  await expect.poll(() => ids.length).toBe(2);
  first.stall();
  await expect.poll(() => countDelivered(second, 'stalled'), { timeout: 20_000 }).toBe(20);
  hanging.resolve();
  first.resume();
  const later = await write(10);
  await expect.poll(() => countDelivered(second, 'stalled')).toBe(30);
  await first.stop();

  // The score under way at the stall was sent twice, under one id. Nothing else was.
  expect(ids.toSorted()).toEqual([ids[1]!, ...[warmUp!, ...scores, ...later].map(idOfDelivery)].toSorted());
  slow.close();
  slow.closeAllConnections();
});

/** Delivers as the web hook does, but waits for a reply for ever, as a stopped process does. */
function withoutTimeout(url: string) {
  return async (scores: readonly Score[]) => {
    for (const score of scores) {
      await fetch(url, { method: 'POST', body: '{}', headers: { 'webhook-id': idOfDelivery(score) } });
    }
    return { kind: 'delivered' } as const;
  };
}

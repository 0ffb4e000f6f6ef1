import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOtlpExporters } from '../../../../src/outbound/exporters/otlp-exporter.ts';
import {
  createScoreExportLoop,
  type ScoreExportLoop,
} from '../../../../src/outbound/exporters/score-export-loop.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { startHttpReceiver, type HttpReceiver } from '../../../support/fakes/http-receiver.ts';
import { buildScore, testStore, type TestStore } from '../../../support/store/store-rows.ts';

let it: TestStore;
let receiver: HttpReceiver;

beforeAll(async () => {
  receiver = await startHttpReceiver();
  it = await testStore();
});
afterAll(async () => {
  await it.stop();
  await receiver.close();
});

function startLoop(): ScoreExportLoop {
  const exporters = createOtlpExporters({ endpoint: receiver.url, as: ['span-event'], version: '0.1.0' });
  const loop = createScoreExportLoop(
    exporters,
    { intervalMs: 20, firstRetryMs: 20 },
    { feed: it.store.scores, log: silentLog, now: () => Date.now(), random: () => 0.5 },
  );
  loop.start();
  return loop;
}

function delivered(loop: ScoreExportLoop): number {
  return loop.counts().get('otlp-span-event')?.delivered ?? 0;
}

test('every revision in the store is sent once, over restarts, and withdrawn scores are not', async () => {
  const first = buildScore({ evidenceUntil: 1000, revision: 1 });
  const withdrawn = { ...buildScore({ evidenceUntil: 1000 }), isDeleted: true };
  await it.store.scores.write([first, withdrawn]);

  const loop = startLoop();
  await expect.poll(() => delivered(loop)).toBe(1);
  await it.store.scores.write([{ ...first, evidenceUntil: 2000, revision: 2, score: 0.5 }]);
  await expect.poll(() => delivered(loop)).toBe(2);
  await loop.stop();

  const again = startLoop();
  const late = buildScore({ evidenceUntil: 3000, source: 'human' });
  await it.store.scores.write([late]);
  await expect.poll(() => delivered(again)).toBe(1);
  await again.stop();

  expect(receiver.requests).toHaveLength(3);
  expect(receiver.requests[2]?.body).toContain(late.scoreId);
  expect(receiver.requests.map(({ body }) => body).join()).not.toContain(withdrawn.scoreId);
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { ChannelDelivery } from '../../../src/delivery/deliver-alerts.ts';
import { connectStore, openConnectedStore } from '../../../src/store/connection/connect-store.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { anAlert } from '../../support/builders/an-alert.ts';
import { emptyFolder, jsonLines, runCli } from '../../support/processes/cli.ts';
import type { Store } from '../../../src/store/store.ts';

const folder = emptyFolder();
const event = anAlert();
const error = new AppError('https://hooks.example answered HTTP 410: gone', {
  code: 'delivery_failed',
  stage: 'alert',
  retryable: false,
});

async function cli(...args: string[]) {
  const { code, stdout } = await runCli([...args, '--json'], { cwd: folder });
  return { code, rows: jsonLines(stdout) };
}

async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const connection = await connectStore(parseConfig({}, { cwd: folder }), silentLog);
  const store = await openConnectedStore(connection, silentLog);
  const result = await work(store);
  await store.close();
  await connection.release();
  return result;
}

beforeAll(async () => {
  writeFileSync(join(folder, 'spanscore.config.yaml'), 'rules: []\n');
  await withStore(async (store) => {
    await store.alerts.write([event]);
    const channel = {
      name: 'webhook-ops',
      maxEvents: 1,
      send: async () => ({ kind: 'refused', error }) as const,
    };
    const delivery = new ChannelDelivery(
      channel,
      {},
      {
        feed: store.alertFeed,
        mutes: async () => [],
        deadLetters: store.deadLetters,
        log: silentLog,
        now: Date.now,
        random: Math.random,
        counts: { delivered: 0, dead: 0, failures: 0 },
        checkDuty: async () => undefined,
        giveUp: new AbortController().signal,
      },
    );
    await delivery.pass();
  });
});

it('an alert that was given up is listed by dlq with its reason, and goes out again after a replay', async () => {
  expect((await cli('dlq', 'list')).rows).toMatchObject([
    { source: 'webhook-ops', signal: 'alerts', code: 'delivery_failed', reason: error.message, attempts: 1 },
  ]);
  expect(await withStore((store) => store.alertFeed.pending('webhook-ops', 0, 10))).toEqual([]);
  expect(await cli('dlq', 'replay', '--all')).toMatchObject({ code: 0, rows: [{ taken: true }] });
  expect((await cli('dlq', 'list')).rows).toEqual([]);
  const pending = await withStore((store) => store.alertFeed.pending('webhook-ops', 0, 10));
  expect(pending).toMatchObject([{ event, plan: { messageId: event.id, round: 1 } }]);
});

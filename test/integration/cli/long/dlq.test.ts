import { afterAll, beforeAll, expect, test } from 'vitest';
import { BlockInserter, createInsertHealth } from '../../../../collector/block-inserter.ts';
import { countedMetrics } from '../../../support/collector/counted-metrics.ts';
import { DEFAULT_COLLECTOR_LIMITS } from '../../../../collector/limits.ts';
import { decodeRequest } from '../../../../collector/otlp/decode-request.ts';
import { ChannelDelivery } from '../../../../src/delivery/deliver-alerts.ts';
import { AppError, StoreRejectedError } from '../../../../src/domain/errors.ts';
import { NOTHING_PURGED } from '../../../../src/store/contracts/purge.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { anAlert } from '../../../support/builders/an-alert.ts';
import { jsonSpan, traceRequest } from '../../../support/builders/otlp-requests.ts';
import { recordingSink } from '../../../support/fakes/recording-sink.ts';
import { emptyFolder, jsonLines } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import { newTraceId, storeFlags, testStore, type TestStore } from '../../../support/store/store-rows.ts';

const cwd = emptyFolder();
let base: TestStore;

beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());

async function cli(...args: string[]) {
  const { code, stdout } = await runCommand([...args, '--json', ...storeFlags(base.options)], { cwd });
  return { code, rows: jsonLines(stdout) };
}

test('a row that the store refused is listed by dlq with its reason, stored by a replay, and then forgotten', async () => {
  const traceId = newTraceId();
  const sink = recordingSink();
  sink.before = () => {
    throw new StoreRejectedError('not today');
  };
  const inserter = new BlockInserter({
    purged: NOTHING_PURGED,
    sink,
    deadLetters: base.store.deadLetters,
    limits: DEFAULT_COLLECTOR_LIMITS,
    log: silentLog,
    metrics: countedMetrics(),
    health: createInsertHealth(sink),
    newToken: () => 'block',
  });
  const body = Buffer.from(JSON.stringify(traceRequest([jsonSpan({ traceId })])));
  const { pieces } = decodeRequest('traces', 'json', body, '');
  const origin = { tenant: '', source: 'otlp-grpc' };
  await inserter.insert(
    'otel_traces',
    pieces.map((piece) => ({ piece, origin })),
  );

  expect((await cli('dlq', 'list')).rows).toMatchObject([
    { source: 'otlp-grpc', signal: 'traces', code: 'store_rejected', reason: 'not today', attempts: 1 },
  ]);
  expect(await cli('dlq', 'replay', '--all')).toMatchObject({ code: 0, rows: [{ taken: true }] });
  expect((await cli('traces', '--since', '9999d')).rows).toMatchObject([{ traceId }]);
  expect((await cli('dlq', 'list')).rows).toEqual([]);
});

test('an alert that was given up is listed by dlq with its reason, and goes out again after a replay', async () => {
  const event = anAlert();
  const error = new AppError('https://hooks.example answered HTTP 410: gone', {
    code: 'delivery_failed',
    stage: 'alert',
    retryable: false,
  });
  const { store } = base;
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

  expect((await cli('dlq', 'list')).rows).toMatchObject([
    { source: 'webhook-ops', signal: 'alerts', code: 'delivery_failed', reason: error.message, attempts: 1 },
  ]);
  expect(await store.alertFeed.pending('webhook-ops', 0, 10)).toEqual([]);
  expect(await cli('dlq', 'replay', '--all')).toMatchObject({ code: 0, rows: [{ taken: true }] });
  expect((await cli('dlq', 'list')).rows).toEqual([]);
  expect(await store.alertFeed.pending('webhook-ops', 0, 10)).toMatchObject([
    { event, plan: { messageId: event.id, round: 1 } },
  ]);
});

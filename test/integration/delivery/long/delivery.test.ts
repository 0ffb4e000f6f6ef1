import { startDuties } from '../../../../src/ownership/duties.ts';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revivedDeliveries, startAlertDelivery } from '../../../../src/delivery/deliver-alerts.ts';
import { webhookChannel } from '../../../../src/delivery/channels/webhook.ts';
import { CHANNELS } from '../../../../src/components.ts';
import { parseConfig } from '../../../../src/configuration.ts';
import { startAlerts } from '../../../../src/delivery/start.ts';
import { addressPolicy } from '../../../../src/config/addresses/private-addresses.ts';
import { createGuardedPost } from '../../../../src/delivery/http/guarded-post.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { alertOfScorer, resolvedEvent } from '../../../support/builders/an-alert.ts';
import { startHttpReceiver, type HttpReceiver } from '../../../support/fakes/http-receiver.ts';
import { metricValue } from '../../../support/documents/metric-lines.ts';
import { soleDuties } from '../../../support/fakes/sole-duties.ts';
import { testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

let its: TestStore;
let receiver: HttpReceiver;

beforeAll(async () => {
  its = await testStore();
  receiver = await startHttpReceiver();
});
afterAll(async () => {
  await receiver.close();
  await its.stop();
});

it('a message that a receiver refuses for good is set aside, with all facts for sending it again', async () => {
  const event = alertOfScorer(randomUUID());
  await its.store.alerts.write([event]);
  receiver.answer(410);
  const name = `webhook-${randomUUID()}`;
  const post = createGuardedPost({ permits: addressPolicy(['127.0.0.0/8']), timeoutMs: 30_000 });
  const loop = startAlertDelivery(
    [webhookChannel.open({ url: receiver.url }, { name, post, now: Date.now })],
    { intervalMs: 100, groupWaitMs: 0 },
    {
      feed: its.store.alertFeed,
      mutes: (sinceMs) => its.store.alerts.mutes(sinceMs),
      deadLetters: its.store.deadLetters,
      log: silentLog,
      now: Date.now,
      random: Math.random,
      duties: soleDuties,
    },
  );
  const findLetter = async () =>
    (await its.store.deadLetters.list({ limit: 100 })).find(({ source }) => source === name);
  await until(async () => (await findLetter()) !== undefined);
  const letter = await findLetter();
  expect(letter).toMatchObject({ signal: 'alerts', encoding: 'json', attempts: 1 });
  expect(letter?.reason).toBe(`${receiver.url} answered HTTP 410: {}`);

  receiver.answer(200);
  const before = receiver.requests.length;
  await its.store.alertFeed.record(revivedDeliveries(letter?.body ?? new Uint8Array(), Date.now()));
  await until(() => receiver.requests.slice(before).some(({ body }) => body.includes(event.series.scorer)));
  await loop.stop();
});

describe('all channels of a configuration', () => {
  it('get the beginning and the end of an incident, and count it', async () => {
    const config = parseConfig({
      alerts: {
        alertmanager: [`${receiver.url}/am`],
        webhook: [{ name: 'ops', url: `${receiver.url}/webhook`, secret: 'x' }],
        slack: [{ url: `${receiver.url}/slack` }],
        pagerduty: [{ routingKey: 'key', url: `${receiver.url}/pagerduty` }],
        groupWait: '0s',
      },
    });
    const metrics = createMetrics({ version: '1', log: silentLog });
    const duties = startDuties(its.store.duties);
    const parts = await startAlerts(config, CHANNELS, its.store, { duties, log: silentLog, metrics });
    const event = alertOfScorer(randomUUID());
    const bodies = (path: string) =>
      receiver.requests.filter((each) => each.path === path && each.body.includes(event.series.scorer));
    const paths = ['/am/api/v2/alerts', '/webhook', '/slack', '/pagerduty'];
    await its.store.alerts.write([event]);
    await until(() => paths.every((path) => bodies(path).length > 0));
    await its.store.alerts.write([resolvedEvent(event)]);
    const resolves = () =>
      receiver.requests.filter(
        ({ path, body }) =>
          path === '/pagerduty' && body.includes('resolve') && body.includes(event.incidentId),
      );
    await until(() => bodies('/webhook').length > 1 && bodies('/slack').length > 1 && resolves().length > 0);

    expect(bodies('/webhook').map(({ headers }) => headers['webhook-id'])).toEqual([
      event.id,
      resolvedEvent(event).id,
    ]);
    expect(bodies('/slack')).toHaveLength(2);
    expect([bodies('/pagerduty').length, resolves().length]).toEqual([1, 1]);
    await until(async () => {
      const text = await metrics.text();
      const told = 'spanscore_alert_events_total{channel="webhook-ops",outcome="delivered"}';
      return (metricValue(text, told) ?? 0) >= 2;
    });
    await Promise.all(parts.map((part) => part.stop()));
    duties.stop();
    await metrics.stop();
  });

  it('are none where none is configured', async () => {
    const metrics = createMetrics({ version: '1', log: silentLog });
    const duties = startDuties(its.store.duties);
    const parts = await startAlerts(parseConfig({}), CHANNELS, its.store, {
      duties,
      log: silentLog,
      metrics,
    });
    expect(parts).toEqual([]);
    duties.stop();
    await metrics.stop();
  });
});

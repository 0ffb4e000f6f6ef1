import { startDuties } from '../../../../../src/ownership/duties.ts';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  startAlertDelivery,
  type AlertDeliveryLoop,
} from '../../../../../src/outbound/alerts/alert-delivery.ts';
import { revivedDeliveries } from '../../../../../src/outbound/alerts/dead-alert.ts';
import { createWebhookChannel } from '../../../../../src/outbound/alerts/webhook-channel.ts';
import { CHANNELS } from '../../../../../src/components.ts';
import { startAlerts } from '../../../../../src/outbound/alerts/start-alerts.ts';
import { parseConfig } from '../../../../../src/configuration.ts';
import { addressPolicy } from '../../../../../src/config/addresses/private-addresses.ts';
import { createGuardedPost } from '../../../../../src/outbound/http/guarded-post.ts';
import { silentLog } from '../../../../../src/telemetry/log.ts';
import { createMetrics } from '../../../../../src/telemetry/metrics.ts';
import { alertOfScorer, resolvedEvent } from '../../../../support/builders/an-alert.ts';
import { startHttpReceiver, type HttpReceiver } from '../../../../support/fakes/http-receiver.ts';
import { metricValue } from '../../../../support/documents/metric-lines.ts';
import { testStore, type TestStore } from '../../../../support/store/store-rows.ts';
import { until } from '../../../../support/until.ts';

let its: TestStore;
let loops: AlertDeliveryLoop[];
let servers: Server[];

beforeAll(async () => {
  its = await testStore();
});
afterAll(() => its.stop());
beforeEach(() => {
  [loops, servers] = [[], []];
});
afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop()));
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

interface Hook {
  readonly url: string;
  /** Ids of events, in the order in which they came. */
  readonly ids: string[];
}

/** A receiver whose reply to each repeat of a message, the first being 1, is up to the test. */
async function startHook(reply: (response: ServerResponse, count: number) => void): Promise<Hook> {
  const ids: string[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const id = String(request.headers['webhook-id']);
      ids.push(id);
      reply(response, ids.filter((each) => each === id).length);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { ids, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

/** Tells one web hook, in a hurry; returns its channel's name. */
function tell(url: string, more: { timeoutMs?: number; giveUpAfterMs?: number } = {}): string {
  const name = `webhook-${randomUUID()}`;
  const permits = addressPolicy(['127.0.0.0/8']);
  const post = createGuardedPost({ permits, timeoutMs: more.timeoutMs ?? 30_000 });
  const loop = startAlertDelivery(
    [createWebhookChannel({ name, url }, { post, now: Date.now })],
    {
      intervalMs: 20,
      firstRetryMs: 20,
      maxRetryMs: 20,
      groupWaitMs: 0,
      giveUpAfterMs: more.giveUpAfterMs ?? 600_000,
    },
    {
      feed: its.store.alertFeed,
      mutes: (sinceMs) => its.store.alerts.mutes(sinceMs),
      deadLetters: its.store.deadLetters,
      log: silentLog,
      now: Date.now,
      random: Math.random,
      isOurs: async () => true,
    },
  );
  loops.push(loop);
  return name;
}

const findCounts = (channel: string) => loops.at(-1)?.counts().get(channel);

/** Tests share a store, and every channel is told of all that is in it. */
describe('a receiver', () => {
  it('that fails at first gets the same message again, with the same id', async () => {
    const event = alertOfScorer(randomUUID());
    await its.store.alerts.write([event]);
    const hook = await startHook((response, count) => response.writeHead(count < 4 ? 500 : 200).end());
    tell(hook.url);
    const sent = () => hook.ids.filter((id) => id === event.id).length;
    await until(() => sent() === 4);
    await its.store.alerts.write([resolvedEvent(event)]);
    await until(() => hook.ids.includes(resolvedEvent(event).id));
    expect(sent()).toBe(4);
  });

  it('that is too slow gets a retry, and counts the message once', async () => {
    const event = alertOfScorer(randomUUID());
    await its.store.alerts.write([event]);
    const held: ServerResponse[] = [];
    const hook = await startHook((response, count) => (count < 3 ? held.push(response) : response.end()));
    const channel = tell(hook.url, { timeoutMs: 250 });
    await until(
      () => (findCounts(channel)?.delivered ?? 0) >= new Set(hook.ids).size && hook.ids.includes(event.id),
    );
    held.forEach((response) => response.end());
    // An answer that is given at once may be late, too, where the machine is busy.
    const sent = () => hook.ids.filter((id) => id === event.id).length;
    const sentUntilTold = sent();
    expect(sentUntilTold).toBeGreaterThanOrEqual(3);
    await its.store.alerts.write([resolvedEvent(event)]);
    await until(() => hook.ids.includes(resolvedEvent(event).id));
    expect(sent()).toBe(sentUntilTold);
    expect(findCounts(channel)?.failedAttempts).toBeGreaterThanOrEqual(2);
  });

  it('that sends us elsewhere sends us nowhere', async () => {
    await its.store.alerts.write([alertOfScorer(randomUUID())]);
    const inside = await startHook((response) => response.end());
    const hook = await startHook((response, count) => {
      const location = count % 2 === 0 ? inside.url : 'http://169.254.169.254/latest/meta-data';
      response.writeHead(count % 2 === 0 ? 307 : 302, { location }).end();
    });
    const channel = tell(hook.url);
    await until(() => (findCounts(channel)?.failedAttempts ?? 0) >= 4);
    expect(findCounts(channel)).toMatchObject({ delivered: 0, dead: 0 });
    expect(inside.ids).toEqual([]);
  });

  it('that refuses a message for good gets it set aside, with all facts for sending it again', async () => {
    const event = alertOfScorer(randomUUID());
    await its.store.alerts.write([event]);
    let refuses = true;
    const hook = await startHook((response) => response.writeHead(refuses ? 410 : 200).end('gone'));
    const channel = tell(hook.url);
    const findLetter = async () =>
      (await its.store.deadLetters.list({ limit: 100 })).find(
        ({ source, body }) => source === channel && Buffer.from(body).includes(event.id),
      );
    await until(async () => (await findLetter()) !== undefined);
    const letter = await findLetter();
    expect(letter).toMatchObject({ signal: 'alerts', encoding: 'json', attempts: 1 });
    expect(letter?.reason).toBe(`${new URL(hook.url).origin} answered HTTP 410: gone`);

    refuses = false;
    const before = hook.ids.length;
    await its.store.alertFeed.record(revivedDeliveries(letter?.body ?? new Uint8Array(), Date.now()));
    await until(() => hook.ids.slice(before).includes(event.id));
  });

  it('that fails for too long has its messages set aside', async () => {
    await its.store.alerts.write([alertOfScorer(randomUUID())]);
    const hook = await startHook((response) => response.writeHead(503).end());
    const channel = tell(hook.url, { giveUpAfterMs: 300 });
    await until(() => (findCounts(channel)?.dead ?? 0) > 0);
    expect(findCounts(channel)?.delivered).toBe(0);
  });
});

describe('all channels of a configuration', () => {
  let receiver: HttpReceiver;

  beforeAll(async () => {
    receiver = await startHttpReceiver();
  });
  afterAll(() => receiver.close());

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

import { basename } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startAlertDelivery } from '../../../src/delivery/deliver-alerts.ts';
import type { DeliveryLoop } from '../../../src/delivery/deliver.ts';
import { createAlertmanagerChannel } from '../../../src/delivery/channels/alertmanager.ts';
import { buildLabels } from '../../../src/monitors/alert-event.ts';
import { labelFingerprint } from '../../../src/delivery/channels/prometheus.ts';
import { addressPolicy } from '../../../src/config/addresses/private-addresses.ts';
import { createGuardedPost } from '../../../src/delivery/http/guarded-post.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { type Alertmanager, startAlertmanager } from '../../support/collector/alertmanager.ts';
import { alertOfScorer, anAlert, resolvedEvent } from '../../support/builders/an-alert.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { soleDuties } from '../../support/fakes/sole-duties.ts';
import { findProgram, hasProgram } from '../../support/processes/installed-program.ts';
import { MemoryAlertFeed } from '../../support/fakes/memory-alert-feed.ts';
import { until } from '../../support/until.ts';

interface Notification {
  readonly status: string;
  readonly notification_reason: string;
  readonly alerts: readonly {
    readonly status: string;
    readonly fingerprint: string;
    readonly labels: object;
  }[];
}

/** An alert counts as ended when three of these reminders are missing, so a busy machine needs a long interval. */
const REMIND_EVERY_MS = 2_500;

const binary = findProgram('prometheus-alertmanager', 'alertmanager') ?? '';
const isInstalled = hasProgram(
  basename(binary) || 'prometheus-alertmanager',
  'a real Alertmanager',
  'apt-get install prometheus-alertmanager',
);

describe.skipIf(!isInstalled)('a real Alertmanager', () => {
  let receiver: HttpReceiver;
  let alertmanager: Alertmanager;
  let feed: MemoryAlertFeed;
  let loop: DeliveryLoop;
  let posts: number;

  beforeEach(async () => {
    receiver = await startHttpReceiver();
    alertmanager = await startAlertmanager(binary, receiver.url);
    feed = new MemoryAlertFeed(Date.now());
    posts = 0;
    loop = startLoop();
  });
  afterEach(async () => {
    await loop.stop();
    await alertmanager.stop();
    await receiver.close();
  });

  function startLoop(): DeliveryLoop {
    const post = createGuardedPost({ permits: addressPolicy(['127.0.0.0/8']), timeoutMs: 30_000 });
    const channel = createAlertmanagerChannel(
      alertmanager.url,
      {
        name: 'alertmanager',
        post: async (...request) => {
          const reply = await post(...request);
          posts += 1;
          return reply;
        },
        now: Date.now,
      },
      REMIND_EVERY_MS,
    );
    return startAlertDelivery(
      [channel],
      { intervalMs: 50 },
      {
        feed,
        mutes: async () => [],
        deadLetters: { write: async () => undefined },
        log: silentLog,
        now: () => (feed.clockMs = Date.now()),
        random: Math.random,
        duties: soleDuties,
      },
    );
  }

  const readNotifications = () => receiver.requests.map(({ body }) => JSON.parse(body) as Notification);

  async function activeAlerts(): Promise<readonly { readonly fingerprint: string }[]> {
    const response = await fetch(`${alertmanager.url}/api/v2/alerts?active=true`);
    return (await response.json()) as { fingerprint: string }[];
  }

  it('tells people once that an alert fires, however often it is reminded, and once that it is over', async () => {
    const event = anAlert({ startsAtMs: Date.now() - 60_000 });
    feed.write(event);
    await until(() => readNotifications().length === 1);
    // More reminders than an Alertmanager waits for before it ends an alert that is not repeated.
    await until(() => posts > 5);
    expect(readNotifications().map(({ status }) => status)).toEqual(['firing']);
    expect(await activeAlerts()).toMatchObject([{ fingerprint: labelFingerprint(buildLabels(event)) }]);

    feed.write(resolvedEvent(event, 60_000));
    await until(() => readNotifications().length === 2);
    const before = posts;
    await until(() => posts > before + 2);
    expect(readNotifications().map(({ status }) => status)).toEqual(['firing', 'resolved']);
    expect(readNotifications().flatMap(({ alerts }) => alerts.map(({ labels }) => labels))).toEqual([
      buildLabels(event),
      buildLabels(event),
    ]);
    expect(await activeAlerts()).toEqual([]);
    expect(loop.counts().get('alertmanager')).toEqual({ delivered: 2, dead: 0, failures: 0 });
  });

  it('gets the alert again from a restarted process, before it considers the alert ended', async () => {
    feed.write(alertOfScorer('toxicity', { startsAtMs: Date.now() }));
    await until(() => readNotifications().length === 1);
    await loop.stop();
    loop = startLoop();
    const before = posts;
    await until(() => posts > before + 4);
    expect(readNotifications().map(({ status }) => status)).toEqual(['firing']);
  });

  it('takes an alert for over that nobody repeats', async () => {
    feed.write(anAlert({ startsAtMs: Date.now() }));
    await until(() => readNotifications().length === 1);
    await loop.stop();
    await until(() => readNotifications().length === 2);
    expect(readNotifications().at(-1)?.status).toBe('resolved');
  });

  it('knows alerts of two series by different labels', async () => {
    feed.write(
      alertOfScorer('a', { startsAtMs: Date.now() }),
      alertOfScorer('b', { startsAtMs: Date.now() }),
    );
    await until(async () => (await activeAlerts()).length === 2);
    const fingerprints = new Set((await activeAlerts()).map(({ fingerprint }) => fingerprint));
    expect(fingerprints.size).toBe(2);
  });
});

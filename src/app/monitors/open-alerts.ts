import { randomUUID } from 'node:crypto';
import { startAlertDelivery, type AlertDeliveryLoop } from '../../outbound/alerts/alert-delivery.ts';
import { CHANNELS } from '../../components.ts';
import { durationMs, type Config } from '../../config/index.ts';
import { createOwnership } from '../../ownership/ownership.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics, Reading } from '../../telemetry/metrics.ts';
import type { StartedPart } from '../stop-parts.ts';
import type { Store } from '../../store/contracts/store.ts';

/** Starts sending alerts over every configured channel. Starts nothing without a channel. */
export async function startAlerts(
  config: Config,
  store: Pick<Store, 'alertFeed' | 'alertMembers' | 'alerts' | 'deadLetters' | 'spans'>,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): Promise<StartedPart[]> {
  const created = await Promise.all(CHANNELS.map((channel) => channel.create(config.alerts)));
  const channels = created.flat();
  if (channels.length === 0) {
    return [];
  }
  const turns = shareChannels(store);
  const delivery = startAlertDelivery(
    channels,
    { groupWaitMs: durationMs(config.alerts.groupWait) },
    {
      feed: store.alertFeed,
      mutes: (sinceMs) => store.alerts.mutes(sinceMs),
      deadLetters: store.deadLetters,
      log,
      now: () => store.spans.nowMs(),
      random: Math.random,
      isOurs: (channel) => turns.isOurs(channel),
    },
  );
  metrics.observe(() => alertReadings(delivery));
  const stop = async () => {
    await delivery.stop();
    await turns.leave();
  };
  return [{ name: 'alerts', stage: 'exporters', stop }];
}

/** Duty of the process that sends the alerts of a channel. */
const ALERT_DUTY = 'alerts';

/**
 * Assigns each channel to one of the processes on a store. Two processes for a moment send the same messages with the same
 * ids.
 */
function shareChannels({ alertMembers }: Pick<Store, 'alertMembers'>) {
  const ownership = createOwnership(alertMembers, {
    member: randomUUID(),
    cells: [],
    duties: [ALERT_DUTY],
    monotonicMs: () => performance.now(),
  });
  return {
    async isOurs(channel: string): Promise<boolean> {
      await ownership.beat();
      return ownership.hasDuty({ tenant: '', traceId: channel }, ALERT_DUTY);
    },
    leave: () => ownership.leave(),
  };
}

function alertReadings(delivery: Pick<AlertDeliveryLoop, 'counts'>): Reading[] {
  return [...delivery.counts()].flatMap(([channel, { delivered, dead, failedAttempts }]) => [
    { name: 'spanscore.alert.events', value: delivered, labels: { channel, outcome: 'delivered' } } as const,
    { name: 'spanscore.alert.events', value: dead, labels: { channel, outcome: 'given_up' } } as const,
    { name: 'spanscore.alert.failures', value: failedAttempts, labels: { channel } } as const,
  ]);
}

import type { DeliveryLoop } from '../../delivery/deliver.ts';
import { startAlertDelivery } from '../../delivery/deliver-alerts.ts';
import { CHANNELS } from '../../components.ts';
import { durationMs, type Config } from '../config/index.ts';
import { trimPath } from '../../config/addresses/public-url.ts';
import { readOptions } from '../../config/schema/components.ts';
import type { AlertChannel, ChannelDefinition } from '../../delivery/channels/channel.ts';
import type { Duties } from '../../ownership/duties.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics, Reading } from '../../telemetry/metrics.ts';
import type { StartedPart } from '../stop-parts.ts';
import type { Store } from '../../store/contracts/store.ts';

/** Creates the configured channels of some kinds. */
export function createChannels(
  { alerts, api }: Pick<Config, 'alerts' | 'api'>,
  kinds: readonly ChannelDefinition[],
): AlertChannel[] {
  const publicUrl = api.publicUrl === undefined ? undefined : trimPath(api.publicUrl);
  const terms = { ...alerts, publicUrl };
  return kinds.flatMap((kind) => kind.create(readOptions(alerts, kind.name) as unknown[], terms));
}

/** Starts sending alerts over every configured channel. Starts nothing without a channel. */
export async function startAlerts(
  config: Config,
  store: Pick<Store, 'alertFeed' | 'alerts' | 'deadLetters' | 'spans'>,
  { duties, log, metrics }: { readonly duties: Duties; readonly log: Log; readonly metrics: Metrics },
): Promise<StartedPart[]> {
  const channels = createChannels(config, CHANNELS);
  if (channels.length === 0) {
    return [];
  }
  // One process at a time serves a channel. Two processes for a moment send the same messages with the same ids.
  const dutyName = (channel: string) => `alerts ${channel}`;
  duties.join(channels.map(({ name }) => dutyName(name)));
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
      duties: {
        readEpoch: (channel) => duties.readEpoch(dutyName(channel)),
        leave: (channel) => duties.leave(dutyName(channel)),
      },
    },
  );
  metrics.observe(() => alertReadings(delivery));
  return [{ name: 'alerts', stage: 'exporters', stop: () => delivery.stop() }];
}

function alertReadings(delivery: Pick<DeliveryLoop, 'counts'>): Reading[] {
  return [...delivery.counts()].flatMap(([channel, { delivered, dead, failures }]) => [
    { name: 'spanscore.alert.events', value: delivered, labels: { channel, outcome: 'delivered' } } as const,
    { name: 'spanscore.alert.events', value: dead, labels: { channel, outcome: 'given_up' } } as const,
    { name: 'spanscore.alert.failures', value: failures, labels: { channel } } as const,
  ]);
}

import { trimPath } from '../../config/addresses/public-url.ts';
import { readOptions } from '../../config/schema/components.ts';
import { durationMs, type Config } from '../../configuration.ts';
import type { Duties } from '../../ownership/duties.ts';
import type { StartedPart } from '../../process/parts.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics, Reading } from '../../telemetry/metrics.ts';
import type { AlertChannel } from './alert-channel.ts';
import type { AlertDeliveryLoop } from './alert-delivery.ts';
import type { ChannelDefinition } from './channel-definition.ts';

/** Creates the configured channels of some kinds. */
export async function createChannels(
  { alerts, api }: Pick<Config, 'alerts' | 'api'>,
  kinds: readonly ChannelDefinition[],
): Promise<AlertChannel[]> {
  const publicUrl = api.publicUrl === undefined ? undefined : trimPath(api.publicUrl);
  const terms = { ...alerts, publicUrl };
  const created = await Promise.all(
    kinds.map((kind) => kind.create(readOptions(alerts, kind.name) as unknown[], terms)),
  );
  return created.flat();
}

/** Starts sending alerts over every configured channel. Starts nothing without a channel. */
export async function startAlerts(
  config: Pick<Config, 'alerts' | 'api'>,
  kinds: readonly ChannelDefinition[],
  store: Pick<Store, 'alertFeed' | 'alerts' | 'deadLetters' | 'spans'>,
  { duties, log, metrics }: { readonly duties: Duties; readonly log: Log; readonly metrics: Metrics },
): Promise<StartedPart[]> {
  const channels = await createChannels(config, kinds);
  if (channels.length === 0) {
    return [];
  }
  const { startAlertDelivery } = await import('./alert-delivery.ts');
  // One process at a time serves a channel. Two processes for a moment send the same messages with the same ids.
  const dutyName = (channel: string) => `alerts ${channel}`;
  const names = channels.map(({ name }) => dutyName(name));
  duties.join(names);
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
      isOurs: async (channel) => (await duties.readEpoch(dutyName(channel))) !== undefined,
    },
  );
  metrics.observe(() => alertReadings(delivery));
  const stop = async () => {
    await delivery.stop();
    await Promise.all(names.map((name) => duties.leave(name)));
  };
  return [{ name: 'alerts', stage: 'exporters', stop }];
}

function alertReadings(delivery: Pick<AlertDeliveryLoop, 'counts'>): Reading[] {
  return [...delivery.counts()].flatMap(([channel, { delivered, dead, failedAttempts }]) => [
    { name: 'spanscore.alert.events', value: delivered, labels: { channel, outcome: 'delivered' } } as const,
    { name: 'spanscore.alert.events', value: dead, labels: { channel, outcome: 'given_up' } } as const,
    { name: 'spanscore.alert.failures', value: failedAttempts, labels: { channel } } as const,
  ]);
}

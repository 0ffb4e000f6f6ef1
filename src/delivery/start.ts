import type { ExporterState } from '../domain/delivery.ts';
import { trimPath } from '../config/addresses/endpoints.ts';
import { readOptions } from '../config/schema/components.ts';
import { durationMs, type Config } from '../configuration.ts';
import type { Duties } from '../ownership/duties.ts';
import { packageVersion } from '../process/package.ts';
import type { StartedPart } from '../process/parts.ts';
import { joinTraceKey, type SpanSource } from '../store/contracts/stores.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics, Reading } from '../telemetry/metrics.ts';
import type { AlertChannel, ChannelDefinition } from './channels/channel.ts';
import type { CountsByReceiver, DeliveryLoop, ReceiverDuties } from './deliver.ts';
import type { ExporterDefinition, ReadSpan, ScoreExporter } from './exporters/exporter.ts';

interface StartDeps {
  readonly duties: Duties;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly countsByReceiver?: CountsByReceiver | undefined;
  /** Called with the reader of the states of exporters. */
  readonly onExports?: ((read: () => ExporterState[]) => void) | undefined;
}

/** Source without spans, for exporters that are only checked. */
const NO_SPANS: Pick<SpanSource, 'read'> = { read: async () => new Map() };

/** Creates the exporters of some kinds that a configuration has options for. */
export function createExporters(
  section: object,
  kinds: readonly ExporterDefinition[],
  spans = NO_SPANS,
): ScoreExporter[] {
  const readSpan: ReadSpan = async ({ tenant, traceId, spanId }) => {
    const key = { tenant, traceId };
    const trace = (await spans.read([key])).get(joinTraceKey(key));
    return trace?.spans.find((span) => span.spanId === spanId)?.attributes;
  };
  return kinds.flatMap((kind) => {
    const options = readOptions(section, kind.name);
    return options === undefined ? [] : kind.create(options, { version: packageVersion(), readSpan });
  });
}

export function createChannels(
  { alerts, api }: Pick<Config, 'alerts' | 'api'>,
  kinds: readonly ChannelDefinition[],
): AlertChannel[] {
  const publicUrl = api.publicUrl === undefined ? undefined : trimPath(api.publicUrl);
  const terms = { ...alerts, publicUrl };
  return kinds.flatMap((kind) => kind.create(readOptions(alerts, kind.name) as unknown[], terms));
}

/** Starts to export scores. Starts nothing without an exporter. Throws when the store does. */
export async function startExports(
  section: object,
  kinds: readonly ExporterDefinition[],
  { scoreFeed: feed, deadLetters, spans }: Pick<Store, 'scoreFeed' | 'deadLetters' | 'spans'>,
  { duties, log, metrics, countsByReceiver, onExports }: StartDeps,
): Promise<StartedPart[]> {
  const exporters = createExporters(section, kinds, spans);
  if (exporters.length === 0) {
    onExports?.(() => []);
    return [];
  }
  const { startScoreDelivery } = await import('./deliver-scores.ts');
  const ownDuties = joinDuties(duties, 'export', exporters);
  const deps = { feed, deadLetters, duties: ownDuties, log, random: Math.random, countsByReceiver };
  const loop = await startScoreDelivery(exporters, {}, deps);
  onExports?.(() => listStates(loop));
  const forget = metrics.observe(() =>
    readCounts(loop, 'exporter', ['spanscore.export.scores', 'spanscore.export.failures']),
  );
  return [{ name: 'exporters', stage: 'exporters', stop: () => loop.stop().finally(forget) }];
}

function listStates(loop: DeliveryLoop): ExporterState[] {
  return [...loop.counts()].map(([name, counts]) => ({
    name,
    sent: counts.delivered,
    waiting: counts.waiting ?? 0,
    deadLetters: counts.dead,
    skipped: counts.skipped ?? 0,
    lastError: counts.lastError ?? null,
  }));
}

/** Starts sending alerts over every configured channel. Starts nothing without a channel. */
export async function startAlerts(
  config: Pick<Config, 'alerts' | 'api'>,
  kinds: readonly ChannelDefinition[],
  store: Pick<Store, 'alertFeed' | 'alerts' | 'deadLetters' | 'spans'>,
  { duties, log, metrics, countsByReceiver }: StartDeps,
): Promise<StartedPart[]> {
  const channels = createChannels(config, kinds);
  if (channels.length === 0) {
    return [];
  }
  const { startAlertDelivery } = await import('./deliver-alerts.ts');
  const loop = startAlertDelivery(
    channels,
    { groupWaitMs: durationMs(config.alerts.groupWait) },
    {
      feed: store.alertFeed,
      mutes: (sinceMs) => store.alerts.mutes(sinceMs),
      deadLetters: store.deadLetters,
      sendsJudgeDrift: config.alerts.judgeDrift,
      duties: joinDuties(duties, 'alerts', channels),
      log,
      now: () => store.spans.nowMs(),
      random: Math.random,
      countsByReceiver,
    },
  );
  const forget = metrics.observe(() =>
    readCounts(loop, 'channel', ['spanscore.alert.events', 'spanscore.alert.failures']),
  );
  return [{ name: 'alerts', stage: 'exporters', stop: () => loop.stop().finally(forget) }];
}

/** One process at a time serves a receiver. Two processes for a moment send the same messages with the same ids. */
function joinDuties(
  duties: Duties,
  kind: string,
  receivers: readonly { readonly name: string }[],
): ReceiverDuties {
  const dutyName = (receiver: string) => `${kind} ${receiver}`;
  duties.join(receivers.map(({ name }) => dutyName(name)));
  return {
    readEpoch: (receiver) => duties.readEpoch(dutyName(receiver)),
    leave: (receiver) => duties.leave(dutyName(receiver)),
  };
}

type CountName = 'spanscore.export.scores' | 'spanscore.alert.events';
type FailureName = 'spanscore.export.failures' | 'spanscore.alert.failures';

function readCounts(
  loop: DeliveryLoop,
  label: 'exporter' | 'channel',
  [items, attempts]: readonly [CountName, FailureName],
): Reading[] {
  return [...loop.counts()].flatMap(([receiver, { delivered, dead, failures, skipped = 0 }]) => [
    { name: items, value: delivered, labels: { [label]: receiver, outcome: 'delivered' } },
    ...(skipped === 0
      ? []
      : [{ name: items, value: skipped, labels: { [label]: receiver, outcome: 'skipped' } }]),
    { name: items, value: dead, labels: { [label]: receiver, outcome: 'given_up' } },
    { name: attempts, value: failures, labels: { [label]: receiver } },
  ]);
}

import { kafkaReceiver } from '../collector/receivers/kafka/kafka-definition.ts';
import { otlpGrpcReceiver, otlpHttpReceiver } from '../collector/receivers/otlp-definitions.ts';
import type { ReceiverDefinition } from '../collector/receivers/receiver.ts';
import { alertmanagerChannel } from './delivery/channels/alertmanager.ts';
import type { ChannelDefinition } from './delivery/channels/channel.ts';
import { pagerdutyChannel } from './delivery/channels/pagerduty.ts';
import { slackChannel } from './delivery/channels/slack.ts';
import { webhookChannel } from './delivery/channels/webhook.ts';
import type { ExporterDefinition } from './delivery/exporters/exporter.ts';
import { datadogExporter } from './delivery/exporters/datadog.ts';
import { langfuseExporter } from './delivery/exporters/langfuse.ts';
import { langsmithExporter } from './delivery/exporters/langsmith.ts';
import { mlflowExporter } from './delivery/exporters/mlflow.ts';
import { otlpExporter } from './delivery/exporters/otlp.ts';
import { phoenixExporter } from './delivery/exporters/phoenix.ts';
import { webhookExporter } from './delivery/exporters/webhook.ts';
import type { Scorer } from './scorers/evals/scorer.ts';
import type { createWhyScorer as WhyScorer } from './scorers/prebuilt/why.ts';

// The registry of all components: a component without a line here does not exist. A definition loads its code at its first use, so
// that a command that lists or checks loads none of it. Conventions are listed in src/conventions/registry.ts, which stays pure.

/** Scorers that rules can name. */
export { PREBUILT_SCORERS } from './scorers/prebuilt/definitions.ts';

/** Creates the scorer `why`, which no rule names: people ask for it. */
export async function createWhyScorer(...given: Parameters<typeof WhyScorer>): Promise<Scorer> {
  return (await import('./scorers/prebuilt/why.ts')).createWhyScorer(...given);
}

/** Receivers of spans. */
export const RECEIVERS = [
  otlpHttpReceiver,
  otlpGrpcReceiver,
  kafkaReceiver,
] as const satisfies readonly ReceiverDefinition[];

/** Exporters of scores. */
export const EXPORTERS = [
  otlpExporter,
  webhookExporter,
  phoenixExporter,
  mlflowExporter,
  langfuseExporter,
  langsmithExporter,
  datadogExporter,
] as const satisfies readonly ExporterDefinition[];

/** Channels of alerts. */
export const CHANNELS = [
  alertmanagerChannel,
  webhookChannel,
  slackChannel,
  pagerdutyChannel,
] as const satisfies readonly ChannelDefinition[];

/** Components with a section of their own in the configuration. */
export const COMPONENTS = { receivers: RECEIVERS, exporters: EXPORTERS, channels: CHANNELS } as const;

/** Lists the components that have a section of their own in the configuration: the name, the key and the line of the documentation. */
export function listComponents({
  receivers,
  exporters,
  channels,
}: {
  readonly receivers: readonly ReceiverDefinition[];
  readonly exporters: readonly ExporterDefinition[];
  readonly channels: readonly ChannelDefinition[];
}) {
  const list = (section: string, kinds: readonly (ExporterDefinition | ChannelDefinition)[]) =>
    kinds.map(({ name, options }) => ({ name, key: `${section}.${name}`, summary: options.description }));
  return {
    receivers: receivers.map(({ name, key, options }) => ({ name, key, summary: options.description })),
    exporters: list('exporters', exporters),
    channels: list('alerts', channels),
  };
}

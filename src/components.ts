import { kafkaReceiver } from '../collector/receivers/kafka/kafka-definition.ts';
import { otlpGrpcReceiver } from '../collector/receivers/otlp-grpc-definition.ts';
import { otlpHttpReceiver } from '../collector/receivers/otlp-http-definition.ts';
import type { ReceiverDefinition } from '../collector/receivers/receiver-definition.ts';
import { alertmanagerChannel } from './outbound/alerts/alertmanager-definition.ts';
import type { ChannelDefinition } from './outbound/alerts/channel-definition.ts';
import { pagerdutyChannel } from './outbound/alerts/pagerduty-definition.ts';
import { slackChannel } from './outbound/alerts/slack-definition.ts';
import { webhookChannel } from './outbound/alerts/webhook-definition.ts';
import type { ExporterDefinition } from './outbound/exporters/exporter-definition.ts';
import { otlpExporter } from './outbound/exporters/otlp-definition.ts';
import { webhookExporter } from './outbound/exporters/webhook-definition.ts';

// The registry of all components: a component without a line here does not exist. A definition stands beside its code and
// loads it at its first use, so that a command that lists or checks loads none of it. Conventions are listed in
// src/conventions/registry.ts, which stays pure.

/** Scorers that rules can name. */
export { PREBUILT_SCORERS } from './scorers/prebuilt/definitions.ts';

/** Receivers of spans. */
export const RECEIVERS = [
  otlpHttpReceiver,
  otlpGrpcReceiver,
  kafkaReceiver,
] as const satisfies readonly ReceiverDefinition[];

/** Exporters of scores. */
export const EXPORTERS = [otlpExporter, webhookExporter] as const satisfies readonly ExporterDefinition[];

/** Channels of alerts. */
export const CHANNELS = [
  alertmanagerChannel,
  webhookChannel,
  slackChannel,
  pagerdutyChannel,
] as const satisfies readonly ChannelDefinition[];

/** Components with a section of their own in the configuration. */
export const COMPONENTS = { receivers: RECEIVERS, exporters: EXPORTERS, channels: CHANNELS } as const;

/** Component, its key in the configuration, and its line of the documentation. */
export interface ListedComponent {
  readonly name: string;
  readonly key: string;
  readonly summary: string | undefined;
}

/** Lists the components that have a section of their own in the configuration. */
export function listComponents({
  receivers,
  exporters,
  channels,
}: {
  readonly receivers: readonly ReceiverDefinition[];
  readonly exporters: readonly ExporterDefinition[];
  readonly channels: readonly ChannelDefinition[];
}): Record<'receivers' | 'exporters' | 'channels', ListedComponent[]> {
  return {
    receivers: receivers.map(({ name, key, options }) => ({ name, key, summary: options.description })),
    exporters: exporters.map(({ name, options }) => ({
      name,
      key: `exporters.${name}`,
      summary: options.description,
    })),
    channels: channels.map(({ name, options }) => ({
      name,
      key: `alerts.${name}`,
      summary: options.description,
    })),
  };
}

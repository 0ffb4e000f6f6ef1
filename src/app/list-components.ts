import type { ReceiverDefinition } from '../../collector/receivers/receiver-definition.ts';
import type { ChannelDefinition } from '../delivery/channels/channel.ts';
import type { ExporterDefinition } from '../delivery/exporters/exporter.ts';

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

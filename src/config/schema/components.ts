import type { z } from 'zod';
import { type KeyPath, valueAt } from '../key-path.ts';

/** Paths of PEM files. */
export type TlsPaths = Readonly<Partial<Record<'ca' | 'clientCa' | 'cert' | 'key', string | undefined>>>;

/** Keys that have one meaning in the options of every receiver. */
export interface ReceiverOptions {
  /** Address on which it listens. Absent for a receiver that does not listen. */
  readonly endpoint?: string | undefined;
  /** PEM files of its TLS. */
  readonly tls?: TlsPaths | undefined;
  readonly [key: string]: unknown;
}

/** Facts about a receiver that the configuration reads from its definition. */
export interface ReceiverSection<
  Key extends `receivers.${string}` = `receivers.${string}`,
  Options extends z.ZodType<ReceiverOptions> = z.ZodType<ReceiverOptions>,
  AlwaysOn extends boolean = boolean,
> {
  /** Name of its address and its metrics. */
  readonly name: string;
  /** Key of its options in the configuration: `receivers.kafka`, or in a group, `receivers.otlp.http`. */
  readonly key: Key;
  /** Description of the group of its key. Receivers of one group have the same. */
  readonly group?: string;
  /** Schema of its options. The description is its line in the documentation. */
  readonly options: Options;
  /** True when it runs with default options if the configuration has none. Otherwise it runs only if it is configured. */
  readonly isAlwaysOn: AlwaysOn;
  /** Finds faults between values of its options. The paths begin at the options. */
  findFaults?(options: z.infer<Options>): readonly { readonly path: KeyPath; readonly message: string }[];
}

/** Destination of one entry of an alert channel. */
interface ChannelTarget {
  readonly url: string;
  /** Configured name of the entry. */
  readonly name?: string | undefined;
  /** Value that identifies the destination, and the key of the entry that holds it; without a key, the entry itself. */
  readonly identity: { readonly key?: string; readonly value: string };
}

/** Facts about an alert channel that the configuration reads from its definition. */
export interface ChannelSection<Name extends string = string, Options extends z.ZodArray = z.ZodArray> {
  /** Key of its options under `alerts` in the configuration. */
  readonly name: Name;
  /** Schema of its list of entries. The description is its line in the documentation. */
  readonly options: Options;
  /** True when entries may have private addresses. Otherwise `alerts.allowAddresses` has to allow each of them. */
  readonly mayBePrivate: boolean;
  /** Returns the destination of an entry. Two entries must not have the same one. */
  readTarget(entry: z.infer<Options>[number]): ChannelTarget;
}

/** Facts about an exporter that the configuration reads from its definition. */
export interface ExporterSection<Name extends string = string, Options extends z.ZodType = z.ZodType> {
  /** Key of its options under `exporters` in the configuration. */
  readonly name: Name;
  /** Schema of its options. The description is its line in the documentation. */
  readonly options: Options;
  /** Returns the URL to which it sends OTLP, and the key of the URL; absent for an exporter that sends no OTLP. */
  readOtlpUrl?(options: z.infer<Options>): { readonly key: string; readonly url: string };
}

/** Lists of components. Each has its own section of the configuration. */
export interface Components {
  readonly receivers: readonly ReceiverSection[];
  readonly exporters: readonly ExporterSection[];
  readonly channels: readonly ChannelSection[];
}

/** Lists for code that does not know the components. It reads the options of a component by `readOptions`. */
export interface UnknownComponents {
  readonly receivers: readonly ReceiverSection[];
  readonly exporters: readonly ExporterSection[];
  readonly channels: readonly [];
}

/** Returns the options of a component: the value at its key in a section of the configuration. */
export function readOptions(section: object, key: string): unknown {
  return (section as Readonly<Record<string, unknown>>)[key];
}

/** Receiver that a configuration has options for. */
export interface ConfiguredReceiver<Section extends ReceiverSection> {
  readonly section: Section;
  /** Path of its options. */
  readonly path: KeyPath;
  readonly options: ReceiverOptions;
}

/** Lists the receivers that a configuration has options for. */
export function listReceivers<Section extends ReceiverSection>(
  config: { readonly receivers: object },
  sections: readonly Section[],
): ConfiguredReceiver<Section>[] {
  return sections.flatMap((section) => {
    const path = section.key.split('.');
    const options = valueAt(config, path) as ReceiverOptions | undefined;
    return options === undefined ? [] : [{ section, path, options }];
  });
}

/** Lists the receivers that run only because the configuration has options for them. */
export function listConfiguredOnly<Section extends ReceiverSection>(
  config: { readonly receivers: object },
  sections: readonly Section[],
): ConfiguredReceiver<Section>[] {
  return listReceivers(config, sections).filter(({ section }) => !section.isAlwaysOn);
}

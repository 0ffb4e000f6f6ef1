import type { z } from 'zod';

/** Destination of one entry of an alert channel. */
export interface ChannelTarget {
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
  readonly exporters: readonly ExporterSection[];
  readonly channels: readonly ChannelSection[];
}

/** Lists for code that does not know the components. It reads the options of a component by `readOptions`. */
export interface UnknownComponents {
  readonly exporters: readonly ExporterSection[];
  readonly channels: readonly [];
}

/** Returns the options of a component: the value at its key in a section of the configuration. */
export function readOptions(section: object, key: string): unknown {
  return (section as Readonly<Record<string, unknown>>)[key];
}

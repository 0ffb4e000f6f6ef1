import { z } from 'zod';
import { type KeyPath, valueAt } from '../key-path.ts';
import { duration, networks } from './fields.ts';

/** Paths of PEM files. */
export type TlsPaths = Readonly<Partial<Record<'ca' | 'clientCa' | 'cert' | 'key', string | undefined>>>;

/** Keys that have one meaning in the options of every receiver. */
export interface ReceiverOptions {
  /** Address on which it listens. Absent for a receiver that does not listen. */
  readonly endpoint?: string | undefined;
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

interface ChannelTarget {
  readonly url: string;
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

export interface ConfiguredReceiver<Section extends ReceiverSection> {
  readonly section: Section;
  /** Path of its options. */
  readonly path: KeyPath;
  readonly options: ReceiverOptions;
}

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

/** Address on which the program listens. */
export interface ListenEndpoint {
  /** Path of the group that has the keys `endpoint` and `tls`. */
  readonly path: KeyPath;
  readonly endpoint: string;
  readonly tls: TlsPaths | undefined;
}

/** Lists the addresses of the receivers that listen, and that of the API. */
export function listEndpoints(
  config: {
    readonly receivers: object;
    readonly api: { readonly endpoint: string; readonly tls?: TlsPaths | undefined };
  },
  receivers: readonly ReceiverSection[],
): ListenEndpoint[] {
  const { endpoint: apiEndpoint, tls: apiTls } = config.api;
  return [
    ...listReceivers(config, receivers).flatMap(({ path, options: { endpoint, tls } }) =>
      endpoint === undefined ? [] : [{ path, endpoint, tls }],
    ),
    { path: ['api'], endpoint: apiEndpoint, tls: apiTls },
  ];
}

/** Schema of the options of a receiver, where it is configured. */
type Keyed<Receiver extends ReceiverSection> = Receiver['isAlwaysOn'] extends true
  ? z.ZodPrefault<Receiver['options']>
  : z.ZodOptional<Receiver['options']>;

/** Receivers whose key begins with a prefix, by the rest of the key. */
type Below<Prefix extends string, Receivers extends readonly ReceiverSection[]> = {
  [
    Receiver in Receivers[number] as Receiver['key'] extends `${Prefix}.${infer Key}`
      ? Key extends `${string}.${string}`
        ? never
        : Key
      : never
  ]: Keyed<Receiver>;
};

type GroupKey<Key extends string> = Key extends `receivers.${infer Name}.${string}` ? Name : never;

type Group<Shape extends z.ZodRawShape> = z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>>;

/** Sections of the configuration: one key for each component, some receivers in groups. */
interface Sections<Listed extends Components> {
  readonly receivers: Group<
    Below<'receivers', Listed['receivers']> & {
      [Name in GroupKey<Listed['receivers'][number]['key']>]: Group<
        Below<`receivers.${Name}`, Listed['receivers']>
      >;
    }
  >;
  readonly exporters: Group<{
    [Exporter in Listed['exporters'][number] as Exporter['name']]: z.ZodOptional<Exporter['options']>;
  }>;
  readonly alerts: Group<
    {
      [Channel in Listed['channels'][number] as Channel['name']]: z.ZodDefault<Channel['options']>;
    } & SharedKeys
  >;
}

/** Creates the schemas of the sections for a list of components. An absent section gets its defaults. */
export function createSections<const Listed extends Components>(components: Listed): Sections<Listed> {
  const { exporters, channels } = components;
  const section = (shape: Record<string, z.ZodType>, description: string) =>
    z.strictObject(shape).describe(description).prefault({});
  const sections = {
    receivers: section(listReceiverKeys(components.receivers, section), 'Receivers of spans.'),
    exporters: section(
      Object.fromEntries(exporters.map(({ name, options }) => [name, options.optional()])),
      'Destinations of scores besides the store.',
    ),
    alerts: section(
      {
        ...Object.fromEntries(channels.map(({ name, options }) => [name, options.default([])])),
        ...createSharedKeys(channels),
      },
      'Channels for alerts.',
    ),
  };
  return sections as unknown as Sections<Listed>;
}

function listReceiverKeys(
  receivers: readonly ReceiverSection[],
  section: (shape: Record<string, z.ZodType>, description: string) => z.ZodType,
): Record<string, z.ZodType> {
  const keys: Record<string, z.ZodType> = {};
  const groups: Record<string, Record<string, z.ZodType>> = {};
  for (const { key, group, options, isAlwaysOn } of receivers) {
    const [, first = '', second] = key.split('.');
    const schema = isAlwaysOn ? options.prefault({}) : options.optional();
    if (second === undefined) {
      keys[first] = schema;
    } else {
      const shape = (groups[first] ??= {});
      shape[second] = schema;
      keys[first] = section(shape, group ?? first);
    }
  }
  return keys;
}

function createSharedKeys(channels: readonly ChannelSection[]) {
  const restricted = channels.filter(({ mayBePrivate }) => !mayBePrivate).map(({ name }) => name);
  return {
    groupWait: duration('Wait before a message, so that alerts of one deploy go into one message.').default(
      '30s',
    ),
    budgetPercents: z
      .array(
        z
          .number()
          .positive()
          .max(100, { error: 'must be at most 100: the whole budget' })
          .meta({ unit: '%' }),
      )
      .refine((percents) => new Set(percents).size === percents.length, { error: 'names a percentage twice' })
      .default([50, 80, 100])
      .describe(
        'Percentages of each limit of a budget at which an alert begins; 100: no further call can be paid. []: no alerts of budgets.',
      ),
    judgeDrift: z
      .boolean()
      .default(false)
      .describe('true: the alert JudgeDrift, about a judge that judges otherwise than before, is sent, too.'),
    allowAddresses: networks(
      `Private addresses and networks (10.0.0.0/8) that ${new Intl.ListFormat('en-GB').format(restricted)} may call.`,
    ),
  };
}

type SharedKeys = ReturnType<typeof createSharedKeys>;

/** Options that all channels share. */
export type AlertTerms = z.infer<z.ZodObject<SharedKeys>>;

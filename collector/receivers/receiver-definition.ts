import type { z } from 'zod';
import type { ReceiverOptions, ReceiverSection } from '../../src/config/schema/components.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { StartReceiver } from './receiver.ts';

/** Receiver, defined in its own folder. `configure` loads its code. */
export interface ReceiverDefinition<
  Key extends `receivers.${string}` = `receivers.${string}`,
  Options extends z.ZodType<ReceiverOptions> = z.ZodType<ReceiverOptions>,
  AlwaysOn extends boolean = boolean,
> extends ReceiverSection<Key, Options, AlwaysOn> {
  /** Returns the function that starts it. Throws a `ConfigError` for a file that cannot be used. */
  configure(options: z.infer<Options>, log: Log): Promise<StartReceiver>;
}

/** Defines a receiver; returns the definition with the types of its key and its options. */
export function defineReceiver<
  const Key extends `receivers.${string}`,
  Options extends z.ZodType<ReceiverOptions>,
  const AlwaysOn extends boolean,
>(definition: ReceiverDefinition<Key, Options, AlwaysOn>): ReceiverDefinition<Key, Options, AlwaysOn> {
  return definition;
}

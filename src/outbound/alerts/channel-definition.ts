import type { z } from 'zod';
import type { AlertTerms, ChannelSection } from '../../config/schema/components.ts';
import type { AlertChannel, AlertLinks } from './alert-channel.ts';

/** Kind of alert channel, defined in its own folder. `create` loads its code. */
export interface ChannelDefinition<
  Name extends string = string,
  Options extends z.ZodArray = z.ZodArray,
> extends ChannelSection<Name, Options> {
  /** Creates one channel for each entry of the configuration. */
  create(entries: z.infer<Options>, terms: AlertTerms & AlertLinks): Promise<AlertChannel[]>;
}

/** Defines a channel; returns the definition with the types of its name and its options. */
export function defineChannel<const Name extends string, Options extends z.ZodArray>(
  definition: ChannelDefinition<Name, Options>,
): ChannelDefinition<Name, Options> {
  return definition;
}

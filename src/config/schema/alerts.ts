import { z } from 'zod';
import type { ChannelSection } from './components.ts';
import { duration, networks } from './fields.ts';

/** Field for the name of an entry of a channel. */
export const channelName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, { error: 'write letters, digits and _ . - (at most 64)' })
  .describe('Name of the channel in stored messages. Absent: a hash of its address.')
  .meta({ examples: ['on-call'] })
  .optional();

/** Returns the keys that all channels share. */
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
    allowAddresses: networks(
      `Private addresses and networks (10.0.0.0/8) that ${new Intl.ListFormat('en-GB').format(restricted)} may call.`,
    ),
  };
}

type SharedKeys = ReturnType<typeof createSharedKeys>;

/** Schema of `alerts`: one key for each channel, and the keys that all channels share. */
export type AlertsSchema<Channels extends readonly ChannelSection[]> = z.ZodObject<
  { [Channel in Channels[number] as Channel['name']]: z.ZodDefault<Channel['options']> } & SharedKeys,
  z.core.$strict
>;

/** Creates the schema of `alerts` for a list of channels. */
export function createAlertsSchema<const Channels extends readonly ChannelSection[]>(
  channels: Channels,
): AlertsSchema<Channels> {
  const lists = channels.map(({ name, options }) => [name, options.default([])]);
  return z.strictObject({
    ...(Object.fromEntries(lists) as object),
    ...createSharedKeys(channels),
  }) as unknown as AlertsSchema<Channels>;
}

/** Options that all channels share. */
export type AlertTerms = z.infer<AlertsSchema<readonly []>>;

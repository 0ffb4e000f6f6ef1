import { z } from 'zod';
import { SCOPES } from '../access.ts';
import type { ReceiverSection } from './components.ts';
import { duration, secret } from './fields.ts';

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

type GroupKey<Key extends string> = Key extends `receivers.${infer Group}.${string}` ? Group : never;

/** Schema of `receivers`: one key for each receiver, some of them in groups. */
export type ReceiversSchema<Receivers extends readonly ReceiverSection[]> = z.ZodObject<
  Below<'receivers', Receivers> & {
    [Group in GroupKey<Receivers[number]['key']>]: z.ZodPrefault<
      z.ZodObject<Below<`receivers.${Group}`, Receivers>, z.core.$strict>
    >;
  },
  z.core.$strict
>;

/** Creates the schema of `receivers` for a list of receivers. */
export function createReceiversSchema<const Receivers extends readonly ReceiverSection[]>(
  receivers: Receivers,
): ReceiversSchema<Receivers> {
  const keys: Record<string, z.ZodType> = {};
  const groups: Record<string, Record<string, z.ZodType>> = {};
  for (const { key, group: description, options, isAlwaysOn } of receivers) {
    const [, first = '', second] = key.split('.');
    const schema = isAlwaysOn ? options.prefault({}) : options.optional();
    if (second === undefined) {
      keys[first] = schema;
    } else {
      const group = (groups[first] ??= {});
      group[second] = schema;
      keys[first] = z
        .strictObject(group)
        .describe(description ?? first)
        .prefault({});
    }
  }
  return z.strictObject(keys) as unknown as ReceiversSchema<Receivers>;
}

const token = z
  .strictObject({
    name: z
      .string()
      .min(1, { error: 'must not be empty' })
      .describe('Name of the owner of the token, for logs.')
      .meta({ examples: ['team-a'] }),
    token: secret(
      'The token itself, at least 16 characters. An empty text leaves the entry out, so that a process gets only the tokens that it checks: `${env:ADMIN_TOKEN:-}`.',
    ).regex(/^(?:.{16,})?$/su, { error: 'must have at least 16 characters, or none' }),
    tenant: z
      .string()
      .default('')
      .describe(
        "Tenant of all spans sent with the token, and the only tenant that its requests to the API see. '': spans of the tenant without a name; the API shows all tenants.",
      )
      .meta({ examples: ['a'] }),
    scopes: z
      .array(z.enum(SCOPES))
      .min(1, { error: 'needs at least one scope' })
      .default(['ingest'])
      .describe(
        'Rights of the token. ingest: send spans. read: read from the API. label: store labels of people. admin: change everything else through the API; it implies read and label.',
      ),
  })
  .describe('A bearer token.');

function isPresent({ token: text }: z.output<typeof token>): boolean {
  return text !== '';
}

/** Schema of access tokens. */
export const Auth = z.strictObject({
  tokens: z
    .array(token)
    .default([])
    .refine((tokens) => tokens.length === 0 || tokens.some(isPresent), {
      error: 'no entry has a token here: give one to this process, or remove the entries to let everyone in',
    })
    .transform((tokens) => tokens.filter(isPresent))
    .describe('Bearer tokens. With an empty list, everyone who can reach a port may use it.'),
});

/** Schema of readiness: when a trace is complete enough to be scored. */
export const Readiness = z.strictObject({
  decisionWait: duration(
    'Time without new spans after which a trace is scored, once its root span has ended.',
  ).default('5s'),
  maxWait: duration('Age at which a trace is scored even if spans are missing.', {
    minMs: 1000,
    minText: '1s',
  }).default('15m'),
  session: z
    .strictObject({
      idle: duration('Time without new turns after which a session is scored.', {
        minMs: 1000,
        minText: '1s',
      }).default('30m'),
      maxAge: duration('Age at which a session is scored even if turns still come.', {
        minMs: 1000,
        minText: '1s',
      }).default('24h'),
      rescores: z
        .int({ error: 'write a whole number' })
        .min(1, { error: 'must be at least 1' })
        .max(1440, { error: 'must be at most 1440' })
        .default(24)
        .describe('Most times that a session is scored within 24 hours.')
        .meta({ unit: 'times a day' }),
    })
    .prefault({})
    .describe('Conditions under which a session is scored, for rules with target: session.'),
});

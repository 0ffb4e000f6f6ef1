import { z } from 'zod';
import { KIB, MIB } from '../../domain/byte-sizes.ts';
import { SCOPES } from '../access.ts';
import { isPublicUrl } from '../addresses/endpoints.ts';
import { endpoint, httpUrl, networks, secret, serverTls, wholeNumber } from './fields.ts';

const bytes = (description: string, min: number, max: number) =>
  wholeNumber(description, { unit: 'bytes', min, max });

const count = (description: string, unit: string) => wholeNumber(description, { unit, max: 1_000_000 });

const limits = z
  .strictObject({
    requestBytes: bytes(
      'Largest request, both as sent and decompressed. A larger one is answered with 413.',
      64 * KIB,
      256 * MIB,
    ).default(64 * MIB),
    inFlightBytes: bytes(
      'Bytes of requests and rows in memory at once, over all senders. Above it, senders get 429 and retry later. A JSON request that needs more alone is answered with 413.',
      MIB,
      64 * KIB * MIB,
    ).default(256 * MIB),
    records: count(
      'Limit of spans or log records in a request, counted with their resources and scopes. A larger request is answered with 413.',
      'records',
    ).default(100_000),
    connections: count(
      'Limit of open connections of a receiver; half of them may have one address. At a limit, a new connection replaces the longest idle one.',
      'connections',
    ).default(2_000),
    spanBytes: bytes(
      'Largest span or log record. A larger one is rejected and reported to the sender as a partial success.',
      64 * KIB,
      64 * MIB,
    ).default(8 * MIB),
    textBytes: bytes(
      'Longest text in a span or log record (the value of an attribute, a name). The rest is cut off.',
      KIB,
      64 * MIB,
    ).default(4 * MIB),
    attributes: count(
      'Limit of attributes of a span, resource, event, link or log record. The first ones are kept.',
      'attributes',
    ).default(10_000),
    events: count('Limit of events of a span. The first ones are kept.', 'events').default(10_000),
    links: count('Limit of links of a span. The first ones are kept.', 'links').default(10_000),
  })
  .describe('Limits of a request and of a row. The column Truncated of a row names the parts that were cut.');

/** Schema of what receivers store. */
export const Ingest = z.strictObject({
  keep: z
    .enum(['all', 'agent-spans'])
    .default('all')
    .describe(
      'all: every span is stored whole. agent-spans: spans outside agents and model calls keep only ids, times, names, status and resource.',
    ),
  limits: limits.prefault({}),
});

export const Api = z.strictObject({
  endpoint: endpoint('Address of the API, /healthz, /readyz and /metrics.').default('127.0.0.1:4320'),
  hosts: z
    .array(z.string().regex(/^[a-z0-9.-]+$/u, { error: 'write a host name in lower case, without port' }))
    .default([])
    .describe(
      'Names under which users reach the API, beside localhost and IP addresses. Requests to other names are refused, so that no foreign page can ask.',
    ),
  publicUrl: httpUrl(
    'Address of the dashboard behind a proxy, with the path that the proxy adds. Browsers may ask from its pages, cookies follow it, and alerts link to it. Its host needs no entry in api.hosts.',
    'users sign in with tokens',
  )
    .refine(isPublicUrl, { error: 'must have no query, and a path of letters, digits and . _ ~ - only' })
    .meta({ examples: ['https://scores.example.com/base'] })
    .optional(),
  trustedProxies: networks(
    'Addresses and networks (10.0.0.0/8) of proxies whose X-Forwarded-For, -Proto, -Host and -Prefix count. With api.publicUrl, only X-Forwarded-For does.',
  ),
  requestsPerMinute: wholeNumber(
    'Most requests of one token to one process of the API. Further ones are answered with 429 and Retry-After. Without tokens, all senders share one limit.',
    { unit: 'requests per minute', max: 1_000_000 },
  ).default(6_000),
  tls: serverTls('TLS of the API.'),
});

/** Schema of the program's log. */
export const Logging = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest level that is logged.'),
  format: z.enum(['text', 'json']).default('text').describe('text for people, json for log collectors.'),
});

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

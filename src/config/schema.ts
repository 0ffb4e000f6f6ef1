import { z } from 'zod';
import { conventionTables } from '../domain/trace/convention-schema.ts';
import { Budgets } from './schema/budgets.ts';
import { Judges, Redaction } from './schema/judges.ts';
import { Monitors } from './schema/monitors.ts';
import { createAlertsSchema } from './schema/alerts.ts';
import type { Components, UnknownComponents } from './schema/components.ts';
import { schemaAddress, endpoint, httpUrl, networks, serverTls, wholeNumber } from './schema/fields.ts';
import { createExportersSchema } from './schema/exporters.ts';
import { Auth, createReceiversSchema, Readiness } from './schema/receivers.ts';
import { Rules, Scorers } from './schema/rules.ts';
import { Scoring } from './schema/scoring.ts';
import { Store } from './schema/store.ts';
import { isPublicUrl } from './addresses/public-url.ts';
import { MIB, KIB } from '../domain/byte-sizes.ts';

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
const Ingest = z.strictObject({
  keep: z
    .enum(['all', 'agent-spans'])
    .default('all')
    .describe(
      'all: every span is stored whole. agent-spans: spans outside agents and model calls keep only ids, times, names, status and resource.',
    ),
  limits: limits.prefault({}),
});

/** Schema of the HTTP API. */
const Api = z.strictObject({
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
const Logging = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest level that is logged.'),
  format: z.enum(['text', 'json']).default('text').describe('text for people, json for log collectors.'),
});

/** Creates the schema of the whole configuration. Every part is optional; unknown keys are refused. */
export function createConfigSchema<const Listed extends Components>(components: Listed) {
  return z
    .strictObject({
      $schema: schemaAddress,
      store: Store.describe('Storage of spans, scores and all other tables.').prefault({}),
      receivers: createSection(
        createReceiversSchema<Listed['receivers']>(components.receivers),
        'Receivers of spans.',
      ),
      ingest: Ingest.describe('Spans that are stored, and limits of requests and rows.').prefault({}),
      auth: Auth.describe('Access tokens of senders and API clients.').prefault({}),
      judges: Judges.describe('Judge models, their limits and their prices.').prefault({}),
      scorers: Scorers.describe(
        'Your own scorers, and variants of prebuilt ones, by name. A prebuilt scorer needs no entry.',
      ).default({}),
      rules: Rules.describe(
        'Rules: which scorers score which traces. Absent: one rule named default. []: no rules.',
      ).optional(),
      conventions: conventionTables
        .describe(
          'Conventions of your own, for spans that spanscore does not read. They are asked in this order, before the conventions of spanscore.',
        )
        .default([]),
      scoring: Scoring.describe('Live scoring: memory, and the order of traces under a backlog.').prefault(
        {},
      ),
      budgets: Budgets.describe(
        'Limits of the judge cost beside the budget of each rule. A call needs money of every budget that applies.',
      ).prefault({}),
      redaction: Redaction.describe('Texts that are removed before a judge is called.').prefault({}),
      readiness: Readiness.describe(
        'Conditions under which a trace is complete enough to be scored.',
      ).prefault({}),
      exporters: createSection(
        createExportersSchema<Listed['exporters']>(components.exporters),
        'Destinations of scores besides the store.',
      ),
      api: Api.describe('HTTP API, health, readiness and metrics.').prefault({}),
      log: Logging.describe('Log of the program, on stderr.').prefault({}),
      monitors: Monitors.describe(
        'Monitors: files (paths or glob patterns), or groups written here.',
      ).default([]),
      alerts: createSection(
        createAlertsSchema<Listed['channels']>(components.channels),
        'Channels for alerts.',
      ),
    })
    .describe('Configuration of spanscore.');
}

/** Describes the schema of a section. An absent section gets its defaults. */
function createSection<Section extends z.ZodType>(
  schema: Section,
  description: string,
): z.ZodPrefault<Section> {
  return schema.describe(description).prefault({} as never);
}

/** Schema of a configuration with sections for these components. */
export type ConfigSchema<Listed extends Components> = ReturnType<typeof createConfigSchema<Listed>>;

/** Configuration as a user writes it. */
export type ConfigInput<Listed extends Components> = z.input<ConfigSchema<Listed>>;

/** Configuration after the schema check, with its defaults; `rules` may still be absent. */
export type ParsedConfig<Listed extends Components = UnknownComponents> = z.infer<ConfigSchema<Listed>>;

/**
 * Configuration ready for use: with defaults, rules and absolute paths. Without a type of components, it is the part that
 * every configuration has; `readOptions` reads the options of a component.
 */
export type Config<Listed extends Components = UnknownComponents> = Omit<
  ParsedConfig<Listed>,
  'rules' | '$schema'
> & {
  rules: NonNullable<ParsedConfig['rules']>;
};

import { z } from 'zod';
import { duration, httpUrl, secret } from './fields.ts';

const table = (description: string) =>
  z
    .string()
    .regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$/, { error: 'write table or database.table' })
    .describe(description)
    .meta({ examples: ['otel.otel_traces'] });

const foreignSpans = z
  .strictObject({
    table: table('An existing traces table of the OpenTelemetry Collector ClickHouse exporter; only read.'),
    logs: table('An existing logs table of the same exporter, for GenAI events that came as log records.')
      .meta({ examples: ['otel.otel_logs'] })
      .optional(),
    lookback: duration(
      'Longest time between the end of a span and its arrival. The table has no column for arrivals. At most 24h.',
    ).default('15m'),
  })
  .describe('Foreign tables to read instead of the tables of spanscore. Then no receiver starts.');

const days = (description: string) =>
  duration(description, {
    min: '1d',
    step: '1d',
    stepText: 'whole days, at least 1d',
  }).meta({
    unit: 'whole days',
    examples: ['30d'],
  });

const retention = z
  .strictObject({
    spans: days('Time that spans and logs are kept after their arrival.').default('30d'),
    scores: days('Time that scores and decisions are kept.').default('400d'),
  })
  .describe('Time that rows are kept.');

export const Store = z.strictObject({
  url: httpUrl(
    'HTTP interface of a ClickHouse server. Absent: an embedded engine with its files under dataDir.',
  )
    .meta({ examples: ['http://127.0.0.1:8123'] })
    .optional(),
  username: z.string().default('default').describe('ClickHouse user, also for the embedded engine.'),
  password: secret(
    'ClickHouse password. Empty with the embedded engine: a random password, see engine.json.',
  ).default(''),
  database: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, { error: 'letters, digits and _ only, not beginning with a digit' })
    .default('spanscore')
    .describe('Database of all tables of spanscore. It is created when it does not exist.'),
  replicated: z
    .boolean()
    .default(false)
    .describe(
      'True for tables that several ClickHouse servers behind url replicate. Not for ClickHouse Cloud, which replicates by itself. See docs/deploy.md.',
    ),
  port: z
    .int({ error: 'write a port, like 8123' })
    .min(1, { error: 'write a port, like 8123' })
    .max(65_535, { error: 'a port is at most 65535' })
    .describe(
      'Port of 127.0.0.1 for ClickHouse HTTP of the embedded engine of serve. Absent: any free port, see engine.json.',
    )
    .meta({ unit: 'port', examples: [8123] })
    .optional(),
  dataDir: z
    .string()
    .min(1, { error: 'must not be empty' })
    .default('.spanscore')
    .describe(
      'Folder of the embedded engine and of serve.json. A relative path starts at the configuration file; in a variable or a flag, at the working directory.',
    ),
  purgeKey: secret(
    'Secret of the hashes by which purged ids are remembered. Every process on one store needs the same. Absent: the file purge.key of dataDir; with url, no purge is possible.',
  )
    .min(16, { error: 'must have at least 16 characters' })
    .optional(),
  spans: foreignSpans.optional(),
  retention: retention.prefault({}),
});

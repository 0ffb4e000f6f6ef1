import { z } from 'zod';
import { parseDurationMs } from '../duration.ts';
import { duration, httpUrl, secret } from './fields.ts';

const DAY_MS = 86_400_000;

const table = (description: string) =>
  z
    .string()
    .regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$/, { error: 'write table or database.table' })
    .describe(description);

const foreignSpans = z
  .strictObject({
    table: table('An existing traces table of the OpenTelemetry Collector ClickHouse exporter; only read.'),
    logs: table(
      'An existing logs table of the same exporter, for GenAI events that came as log records.',
    ).optional(),
    lookback: duration('How late a span may arrive in a table that has no arrival column.').default('15m'),
  })
  .describe('Read spans from an existing table instead of our own otel_traces.');

/** True also for what is no duration: that has its own message. */
function isWholeDays(text: string): boolean {
  const ms = parseDurationMs(text);
  return ms === undefined || (ms > 0 && ms % DAY_MS === 0);
}

const days = (description: string) =>
  duration(description).refine((text) => isWholeDays(text), {
    error: 'must be whole days, at least 1d',
  });

const retention = z
  .strictObject({
    spans: days('How long spans and logs are kept after they arrived: whole days.').default('30d'),
    scores: days('How long scores and decisions are kept: whole days.').default('400d'),
  })
  .describe('How long rows are kept.');

/** Where everything is stored. */
export const Store = z.strictObject({
  url: httpUrl(
    'ClickHouse server, HTTP interface. Absent: an embedded engine with its files under dataDir.',
  ).optional(),
  username: z.string().default('default').describe('ClickHouse user; of the embedded engine too.'),
  password: secret(
    'ClickHouse password. Empty for the embedded engine: a random one, see engine.json.',
  ).default(''),
  database: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, { error: 'letters, digits and _ only, not beginning with a digit' })
    .default('spanscore')
    .describe('Database of all tables of spanscore; created when missing.'),
  port: z
    .int({ error: 'write a port, like 8123' })
    .min(1, { error: 'write a port, like 8123' })
    .max(65_535, { error: 'a port is at most 65535' })
    .optional()
    .describe(
      'Port of 127.0.0.1 on which the embedded engine answers ClickHouse HTTP. Absent: any free one, see engine.json.',
    ),
  dataDir: z
    .string()
    .min(1, { error: 'must not be empty' })
    .default('.spanscore')
    .describe(
      'Folder of the embedded engine and of serve.json. In a file: relative to that file; else to the working directory.',
    ),
  spans: foreignSpans.optional(),
  retention: retention.prefault({}),
});

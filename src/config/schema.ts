import { z } from 'zod';
import { Ingest } from './schema/ingest.ts';
import { Judges, Redaction } from './schema/judges.ts';
import { Monitors } from './schema/monitors.ts';
import { Alerts } from './schema/alerts.ts';
import { schemaAddress } from './schema/fields.ts';
import { Api, Exporters, Logging } from './schema/outputs.ts';
import { Auth, Forward, Readiness, Receivers } from './schema/receivers.ts';
import { Rules, Scorers } from './schema/rules.ts';
import { Store } from './schema/store.ts';

/** Schema of the whole configuration. Every part is optional; unknown keys are refused. */
export const configSchema = z
  .strictObject({
    $schema: schemaAddress,
    store: Store.describe('Storage of spans, scores and all other tables.').prefault({}),
    receivers: Receivers.describe('Receivers of spans.').prefault({}),
    forward: Forward.optional(),
    ingest: Ingest.describe('Spans that are stored, and limits of requests and rows.').prefault({}),
    auth: Auth.describe('Access tokens of senders and API clients.').prefault({}),
    judges: Judges.describe('Judge models, their limits and their prices.').prefault({}),
    scorers: Scorers.describe(
      'Your own scorers, and variants of prebuilt ones, by name. A prebuilt scorer needs no entry.',
    ).default({}),
    rules: Rules.describe(
      'Rules: which scorers score which traces. Absent: one rule named default. []: no rules.',
    ).optional(),
    redaction: Redaction.describe('Texts that are removed before a judge is called.').prefault({}),
    readiness: Readiness.describe('Conditions under which a trace is complete enough to be scored.').prefault(
      {},
    ),
    exporters: Exporters.describe('Destinations of scores besides the store.').prefault({}),
    api: Api.describe('HTTP API, health, readiness and metrics.').prefault({}),
    log: Logging.describe('Log of the program, on stderr.').prefault({}),
    monitors: Monitors.describe('Monitors: files (paths or glob patterns), or groups written here.').default(
      [],
    ),
    alerts: Alerts.describe('Channels for alerts.').prefault({}),
  })
  .describe('Configuration of spanscore.');

/** Configuration as a user writes it. */
export type ConfigInput = z.input<typeof configSchema>;

/** Configuration after the schema check, with its defaults; `rules` may still be absent. */
export type ParsedConfig = z.infer<typeof configSchema>;

/** Configuration ready for use: with defaults, rules and absolute paths. */
export type Config = Omit<ParsedConfig, 'rules' | '$schema'> & {
  rules: NonNullable<ParsedConfig['rules']>;
};

/** Types a configuration written in TypeScript. Returns it unchanged. */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}

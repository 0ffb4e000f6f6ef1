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

/** The whole configuration. Every part is optional; unknown keys are refused. */
export const configSchema = z
  .strictObject({
    $schema: schemaAddress,
    store: Store.describe('Place where everything is stored.').prefault({}),
    receivers: Receivers.describe('Ways in which spans come in.').prefault({}),
    forward: Forward.optional(),
    ingest: Ingest.describe('Spans that are kept, and limits of what is taken in.').prefault({}),
    auth: Auth.describe('Tokens of those who may send and read.').prefault({}),
    judges: Judges.describe('Models that judge, their limits and their prices.').prefault({}),
    scorers: Scorers.describe(
      'Your own scorers, and variants of prebuilt ones, by name. A prebuilt scorer needs no entry.',
    ).default({}),
    rules: Rules.describe(
      'Rules: which traces are scored by which scorers. Absent: one rule named default. []: none.',
    ).optional(),
    redaction: Redaction.describe('Texts that are removed before anything goes to a judge.').prefault({}),
    readiness: Readiness.describe('Time at which a trace is complete enough to be scored.').prefault({}),
    exporters: Exporters.describe('Places that scores are sent to, besides the store.').prefault({}),
    api: Api.describe('HTTP API, health, readiness and metrics.').prefault({}),
    log: Logging.describe('Log of the program, on stderr.').prefault({}),
    monitors: Monitors.describe(
      'Monitor files (paths or patterns of paths), or monitors written in place.',
    ).default([]),
    alerts: Alerts.describe('Channels that alerts are sent over.').prefault({}),
  })
  .describe('Configuration of spanscore.');

/** Configuration as a user writes it. */
export type ConfigInput = z.input<typeof configSchema>;

/** A configuration with its defaults filled in, as checked by the schema; `rules` may still be absent. */
export type ParsedConfig = z.infer<typeof configSchema>;

/** A configuration ready for use: defaults filled in, rules decided, paths absolute. */
export type Config = Omit<ParsedConfig, 'rules' | '$schema'> & {
  rules: NonNullable<ParsedConfig['rules']>;
};

/** Gives a configuration written in TypeScript its types; returns it as it is. */
export function defineConfig(config: ConfigInput): ConfigInput {
  return config;
}

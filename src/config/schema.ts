import { z } from 'zod';
import { Ingest } from './schema/ingest.ts';
import { Judges, Redaction } from './schema/judges.ts';
import { Monitors } from './schema/monitors.ts';
import { Alerts } from './schema/alerts.ts';
import { Api, Exporters, Logging } from './schema/outputs.ts';
import { Auth, Forward, Readiness, Receivers } from './schema/receivers.ts';
import { Rules, Scorers } from './schema/rules.ts';
import { Store } from './schema/store.ts';

/** The whole configuration. Every part is optional; unknown keys are refused. */
export const configSchema = z
  .strictObject({
    $schema: z.string().optional().describe('Address of this schema, for editors.'),
    store: Store.describe('Where everything is stored.').prefault({}),
    receivers: Receivers.describe('How spans come in.').prefault({}),
    forward: Forward.optional(),
    ingest: Ingest.describe('What is taken in, and how much.').prefault({}),
    auth: Auth.describe('Who may send and read.').prefault({}),
    judges: Judges.describe('Which models judge, and how hard they may be asked.').prefault({}),
    scorers: Scorers.describe('Scorers of your own; prebuilt ones need no entry.').default({}),
    rules: Rules.describe(
      'What is scored by which scorers. Absent: one rule named default; []: none.',
    ).optional(),
    redaction: Redaction.describe('What is removed before anything goes to a judge.').prefault({}),
    readiness: Readiness.describe('When a trace is complete enough to be scored.').prefault({}),
    exporters: Exporters.describe('Where scores are sent besides the store.').prefault({}),
    api: Api.describe('HTTP API, health and readiness.').prefault({}),
    log: Logging.describe('What the program says on stderr.').prefault({}),
    monitors: Monitors.describe('Monitor files, or monitors in place.').default([]),
    alerts: Alerts.describe('Who is told when a monitor fires.').prefault({}),
  })
  .describe('Configuration of spanscore.');

/** What a user writes. */
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

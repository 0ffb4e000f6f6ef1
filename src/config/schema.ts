import { z } from 'zod';
import { conventionTables } from '../domain/trace/convention-schema.ts';
import { type Components, createSections, type UnknownComponents } from './schema/components.ts';
import { schemaAddress } from './schema/fields.ts';
import { Judges, Redaction } from './schema/judges.ts';
import { Monitors } from './schema/monitors.ts';
import { Rules, Scorers } from './schema/rules.ts';
import { Budgets, Issues, Readiness, Scoring } from './schema/scoring.ts';
import { Api, Auth, Ingest, Logging } from './schema/serving.ts';
import { Labels, Sources } from './schema/sources.ts';
import { Store } from './schema/store.ts';

/** Creates the schema of the whole configuration. Every part is optional; unknown keys are refused. */
export function createConfigSchema<const Listed extends Components>(components: Listed) {
  const { receivers, exporters, alerts } = createSections(components);
  return z
    .strictObject({
      $schema: schemaAddress,
      store: Store.describe('Storage of spans, scores and all other tables.').prefault({}),
      receivers,
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
      exporters,
      sources: Sources.describe(
        'Tools and files that spans are read from, by a name of your choice.',
      ).default({}),
      labels: Labels.describe('Labels of people in other tools.').prefault({}),
      api: Api.describe('HTTP API, health, readiness and metrics.').prefault({}),
      log: Logging.describe('Log of the program, on stderr.').prefault({}),
      monitors: Monitors.describe(
        'Monitors: files (paths or glob patterns), or groups written here. Absent: one group named behaviour, which watches cost, duration, tool errors, repeats, answers and paths of each agent. []: no monitors.',
      ).optional(),
      alerts,
      issues: Issues.describe('Issues: what goes wrong in runs, and when the channels are told.').prefault(
        {},
      ),
    })
    .describe('Configuration of spanscore.');
}

export type ConfigSchema<Listed extends Components> = ReturnType<typeof createConfigSchema<Listed>>;

export type ConfigInput<Listed extends Components> = z.input<ConfigSchema<Listed>>;

/** Configuration after the schema check, with its defaults; `rules` and `monitors` may still be absent. */
export type ParsedConfig = z.infer<ConfigSchema<UnknownComponents>>;

/**
 * Configuration ready for use: with defaults, rules and absolute paths. Without a type of components, it is the part that
 * every configuration has; `readOptions` reads the options of a component.
 */
export type Config<Listed extends Components = UnknownComponents> = Omit<
  z.infer<ConfigSchema<Listed>>,
  'rules' | 'monitors' | '$schema'
> & {
  rules: NonNullable<ParsedConfig['rules']>;
  monitors: NonNullable<ParsedConfig['monitors']>;
};

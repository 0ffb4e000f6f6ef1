/** Entry point `spanscore/config`: configurations with sections for the components of this program. */
import { COMPONENTS } from './components.ts';
import { createConfigReader, isSecretPath } from './config/index.ts';
import type * as sections from './config/index.ts';
import { listLeaves, withValueAt, type KeyPath } from './config/key-path.ts';
import { REDACTED, redactFields, redactText } from './telemetry/redact-fields.ts';

export {
  askedSchema,
  explainedSchema,
  byteSize,
  checkValue,
  conditionsSchema,
  configErrorOf,
  durationDays,
  durationMs,
  loadMonitorFiles,
  loadMonitorTests,
  loadRuleFile,
  parseDurationMs,
  parseEndpoint,
  parseMomentMs,
  readConfiguredMonitors,
  reportedIssues,
  ruleSchema,
  type Asked,
  type ConfigIssue,
  type Endpoint,
  type KnownScorer,
  type MonitorFile,
  type MonitorGroup,
  type MonitorRule,
  type MonitorTest,
  type MonitorTestFile,
  type ReportedIssue,
  type Rule,
  type RuleFile,
} from './config/index.ts';

const reader: sections.ConfigReader<typeof COMPONENTS> = createConfigReader(COMPONENTS);

/** Configuration as a user writes it. */
export type ConfigInput = sections.ConfigInput<typeof COMPONENTS>;

/** Configuration ready for use: with defaults, rules and absolute paths. */
export type Config = sections.Config<typeof COMPONENTS>;

export type LoadConfigOptions = sections.LoadConfigOptions<Config>;

export type LoadedConfig = sections.LoadedConfig<Config>;

/** Schema of the whole configuration. Every part is optional; unknown keys are refused. */
export const configSchema: sections.ConfigSchema<typeof COMPONENTS> = reader.schema;

/** Returns the JSON Schema (draft 2020-12) of the configuration, for editors; generated from the Zod schema. */
export function configJsonSchema(): sections.JsonSchemaNode {
  return reader.jsonSchema();
}

/**
 * Loads the configuration: defaults < file < SPANSCORE_… variables < flags, checked as a whole. Throws a `ConfigError` that
 * lists every fault.
 */
export async function loadConfig(options?: LoadConfigOptions): Promise<LoadedConfig> {
  return reader.loadConfig(options);
}

/** Checks a configuration given as a value, as `defineConfig` returns it. Throws a `ConfigError`. */
export function parseConfig(input: ConfigInput, options?: sections.ParseConfigOptions): Config {
  return reader.parseConfig(input, options);
}

/** Types a configuration written in TypeScript. Returns it unchanged. */
export function defineConfig(input: ConfigInput): ConfigInput {
  return input;
}

/** Returns a configuration without its secrets: those of its schema, of a secret's name, and of a secret's shape. */
export function withoutSecrets(config: Config): Record<string, unknown> {
  const shown = listLeaves(config).reduce<unknown>(
    (whole, { path, value }) => withValueAt(whole, path, shownValue(path, value)),
    config,
  ) as Config;
  const scorers = Object.entries(shown.scorers).map(([name, scorer]) => [name, withoutSecretOptions(scorer)]);
  return { ...shown, scorers: Object.fromEntries(scorers) as Record<string, unknown> };
}

/** Returns the value at a path of the configuration, or a mark in the place of a secret. */
export function shownValue(path: KeyPath, value: unknown): unknown {
  if (isSecretPath(path, configJsonSchema())) {
    return value === '' ? '' : REDACTED;
  }
  return typeof value === 'string' ? redactText(value) : value;
}

/** The schema does not know the options of a scorer. */
function withoutSecretOptions({ options, ...rest }: Config['scorers'][string]) {
  return options === undefined ? rest : { ...rest, options: redactFields(options) };
}

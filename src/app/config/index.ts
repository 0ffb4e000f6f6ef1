/** Entry point `spanscore/config`: configurations with sections for the components of this program. */
import { COMPONENTS } from '../../components.ts';
import * as config from '../../config/index.ts';

export {
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
} from '../../config/index.ts';

const reader: config.ConfigReader<typeof COMPONENTS> = config.createConfigReader(COMPONENTS);

/** Configuration as a user writes it. */
export type ConfigInput = config.ConfigInput<typeof COMPONENTS>;

/** Configuration ready for use: with defaults, rules and absolute paths. */
export type Config = config.Config<typeof COMPONENTS>;

export type LoadConfigOptions = config.LoadConfigOptions<Config>;

export type LoadedConfig = config.LoadedConfig<Config>;

/** Schema of the whole configuration. Every part is optional; unknown keys are refused. */
export const configSchema: config.ConfigSchema<typeof COMPONENTS> = reader.schema;

/** Returns the JSON Schema (draft 2020-12) of the configuration, for editors; generated from the Zod schema. */
export function configJsonSchema(): config.JsonSchemaNode {
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
export function parseConfig(input: ConfigInput, options?: config.ParseConfigOptions): Config {
  return reader.parseConfig(input, options);
}

/** Types a configuration written in TypeScript. Returns it unchanged. */
export function defineConfig(input: ConfigInput): ConfigInput {
  return input;
}

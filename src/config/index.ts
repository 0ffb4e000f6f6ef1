/** Reading of configurations, for any list of components. `src/configuration.ts` binds the components of this program. */
export { parseEndpoint, type Endpoint } from './addresses/endpoints.ts';
export { findSeriesFaults } from './checks/scorer-checks.ts';
export type { KnownScorer } from './schema/rules.ts';
export {
  createConfigError as configErrorOf,
  reportedIssues,
  type ConfigIssue,
  type ReportedIssue,
} from './faults/config-issue.ts';
export { checkValue } from './faults/schema-issues.ts';
export {
  loadMonitorFiles,
  loadMonitorTests,
  loadRuleFile,
  readConfiguredMonitors,
  type MonitorFile,
  type MonitorTestFile,
  type RuleFile,
} from './files/side-files.ts';
export { isSecretPath, type JsonSchemaNode } from './json-schema.ts';
export {
  createConfigReader,
  type ConfigReader,
  type LoadConfigOptions,
  type LoadedConfig,
  type ParseConfigOptions,
} from './load-config.ts';
export type { Config, ConfigInput, ConfigSchema } from './schema.ts';
export type { MonitorGroup, MonitorRule, MonitorTest } from './schema/monitors.ts';
export {
  AskedOnce as askedSchema,
  type Asked,
  ExplainedScore as explainedSchema,
} from './schema/own-judges.ts';
export { Conditions as conditionsSchema, RuleEntry as ruleSchema, type Rule } from './schema/rules.ts';
export {
  byteSize,
  DATE_WORDS,
  DURATION_PATTERN,
  durationDays,
  durationMs,
  MOMENT_PATTERN,
  MOMENT_WORDS,
  parseDurationMs,
  parseMomentMs,
  parseRatePerSecond,
} from './units.ts';

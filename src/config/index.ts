/** Reading of configurations, for any list of components. `src/app/config` binds the components of this program. */
export { byteSize } from './byte-size.ts';
export {
  createConfigError as configErrorOf,
  reportedIssues,
  type ConfigIssue,
  type ReportedIssue,
} from './faults/config-issue.ts';
export { checkValue } from './check-value.ts';
export {
  DURATION_PATTERN,
  durationDays,
  durationMs,
  MOMENT_PATTERN,
  DATE_WORDS,
  MOMENT_WORDS,
  parseDurationMs,
  parseMomentMs,
} from './duration.ts';
export { parseEndpoint, type Endpoint } from './addresses/endpoint.ts';
export { createConfigReader, type ConfigReader, type ParseConfigOptions } from './config-reader.ts';
export { parseRatePerSecond } from './rate.ts';
export { isSecretPath, type JsonSchemaNode } from './json-schema.ts';
export {
  loadMonitorFiles,
  loadMonitorTests,
  readConfiguredMonitors,
  type MonitorFile,
  type MonitorTestFile,
} from './files/monitor-files.ts';
export { findSeriesFaults } from './checks/monitor-checks.ts';
export type { MonitorTest } from './schema/monitor-tests.ts';
export type { MonitorGroup, MonitorRule } from './schema/monitors.ts';
export type { LoadConfigOptions, LoadedConfig } from './load-config.ts';
export type { Config, ConfigInput, ConfigSchema } from './schema.ts';
export type { KnownScorer } from './default-rule.ts';
export { loadRuleFile, type RuleFile } from './files/rule-file.ts';
export { Conditions as conditionsSchema, RuleEntry as ruleSchema, type Rule } from './schema/rules.ts';

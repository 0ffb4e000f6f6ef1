import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { withAbsoluteTls, type FolderOf } from './absolute-paths.ts';
import { findConfigFile, readConfigFile } from './config-file.ts';
import { configErrorOf, type ConfigIssue, type Origin } from './config-issue.ts';
import { layersOf, parseLayers, subjectOf } from './config-layers.ts';
import { crossIssues } from './cross-checks.ts';
import { defaultRule, defaultRuleNote, type DefaultJudge, type KnownScorer } from './default-rule.ts';
import { environment } from './environment.ts';
import { missingKeys } from './judge-checks.ts';
import type { KeyPath } from './key-path.ts';
import { priceOf } from '../domain/model-prices.ts';
import { openDoors } from './open-doors.ts';
import { environmentOverrides, flagOverrides, judgeOverride } from './overrides.ts';
import { configSchema, type Config, type ConfigInput, type ParsedConfig } from './schema.ts';
import { issuesOf, PARSE_TERMS } from './schema-issues.ts';

export interface LoadConfigOptions {
  /** The file; default: SPANSCORE_CONFIG, else the one in `cwd`, else none. */
  readonly path?: string | undefined;
  /** Values by dotted path; they win over everything. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Default: the environment of this process. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** The scorers that exist; absent: names are not checked. */
  readonly scorers?: readonly KnownScorer[];
}

export interface LoadedConfig {
  readonly config: Config;
  /** Absolute path of the file that was read. */
  readonly file: string | undefined;
  /** Where the value at a path came from. */
  readonly originOf: (path: KeyPath) => Origin;
  /** What looks like a mistake but hinders nothing. */
  readonly warnings: readonly string[];
  /** What to tell at the start. */
  readonly notes: readonly string[];
}

/** Defaults < file < SPANSCORE_… variables < flags, checked as a whole. Throws a `ConfigError` that lists every fault. */
export async function loadConfig(options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const cwd = options.cwd ?? process.cwd();
  const variables = options.variables ?? environment();
  const named = options.path ?? (variables['SPANSCORE_CONFIG'] || undefined);
  const path = named === undefined ? findConfigFile(cwd) : resolve(cwd, named);
  const file = path === undefined ? undefined : await readConfigFile(path);
  const fromEnvironment = environmentOverrides(variables);
  const overrides = [
    ...judgeOverride(variables),
    ...fromEnvironment.overrides,
    ...flagOverrides(options.flags ?? {}),
  ];
  const layers = layersOf(file, overrides, variables);
  const parsed = parseLayers(layers, file);
  const judge = variables['SPANSCORE_JUDGE'] ? defaultJudge(parsed) : undefined;
  const config = finish(parsed, {
    scorers: options.scorers,
    judge,
    folderOf: (keys) =>
      file !== undefined && layers.originOf(keys).kind === 'file' ? dirname(file.path) : cwd,
  });
  const issues = [...crossIssues(config, options.scorers), ...missingModules(config)];
  if (issues.length > 0) {
    throw configErrorOf(subjectOf(file), issues, layers.originOf);
  }
  return {
    config,
    file: file?.path,
    originOf: layers.originOf,
    warnings: [
      ...fromEnvironment.warnings,
      ...openDoors(config),
      ...missingKeys(config, options.scorers, variables),
    ],
    notes: parsed.rules === undefined ? [defaultRuleNote(judge)] : [],
  };
}

function defaultJudge({ judges }: ParsedConfig): DefaultJudge | undefined {
  return judges.default === undefined
    ? undefined
    : { model: judges.default, hasPrice: priceOf(judges.default, judges.prices) !== undefined };
}

/** Checks a configuration given as a value, as `defineConfig` returns it. Throws a `ConfigError`. */
export function parseConfig(
  input: ConfigInput,
  options: { cwd?: string; scorers?: readonly KnownScorer[] } = {},
): Config {
  const origin = (): Origin => ({ kind: 'default', where: '' });
  const result = configSchema.safeParse(input, PARSE_TERMS);
  if (!result.success) {
    throw configErrorOf('the configuration', issuesOf(result.error), origin);
  }
  const cwd = options.cwd ?? process.cwd();
  const config = finish(result.data, { scorers: options.scorers, judge: undefined, folderOf: () => cwd });
  const issues = crossIssues(config, options.scorers);
  if (issues.length > 0) {
    throw configErrorOf('the configuration', issues, origin);
  }
  return config;
}

function finish(
  parsed: ParsedConfig,
  options: {
    scorers: readonly KnownScorer[] | undefined;
    judge: DefaultJudge | undefined;
    folderOf: FolderOf;
  },
): Config {
  const { $schema: _, ...rest } = parsed;
  const scorers = Object.entries(parsed.scorers).map(([name, entry]) => {
    const folder = options.folderOf(['scorers', name, 'module']);
    return [name, entry.module === undefined ? entry : { ...entry, module: resolve(folder, entry.module) }];
  });
  return {
    ...rest,
    store: {
      ...parsed.store,
      dataDir: resolve(options.folderOf(['store', 'dataDir']), parsed.store.dataDir),
    },
    scorers: Object.fromEntries(scorers) as ParsedConfig['scorers'],
    monitors: parsed.monitors.map((entry, index) =>
      typeof entry === 'string' ? resolve(options.folderOf(['monitors', index]), entry) : entry,
    ),
    ...withAbsoluteTls(parsed, options.folderOf),
    rules: parsed.rules ?? [defaultRule(options.scorers, options.judge)],
  };
}

/** Whether a module can be used shows when it is loaded; that it is there can be told at once. */
function missingModules(config: Config): ConfigIssue[] {
  return Object.entries(config.scorers).flatMap(([name, { module }]) =>
    module === undefined || existsSync(module)
      ? []
      : [{ path: ['scorers', name, 'module'], message: `there is no file ${module}` }],
  );
}

import { dirname, resolve } from 'node:path';
import { findPrice } from '../domain/money/model-prices.ts';
import { crossIssues } from './checks/cross-checks.ts';
import type { ConfigFormat } from './config-format.ts';
import { missingKeys, openJudges, uselessLimits, uselessOptions } from './checks/judge-checks.ts';
import { defaultRule, defaultRuleNote, type DefaultJudge, type KnownScorer } from './default-rule.ts';
import { environment } from './environment.ts';
import { createConfigError, type ConfigIssue, type Origin } from './faults/config-issue.ts';
import { type LenientParse, parseLeniently } from './faults/lenient-parse.ts';
import { type ConfigFile, findConfigFile, readConfigFile } from './files/config-file.ts';
import { type KeyPath, withValueAt, showPath, valueAt } from './key-path.ts';
import { environmentOverrides, flagOverrides, judgeOverride, type Override } from './overrides.ts';
import type { Config, ParsedConfig } from './schema.ts';
import { type Components, type ReceiverSection, listReceivers } from './schema/components.ts';
import { isLoopbackHost, parseEndpoint } from './addresses/endpoint.ts';
import { listEndpoints } from './addresses/listen-endpoints.ts';
import type { z } from 'zod';
import { nearest } from '../domain/nearest.ts';
import { resolveReferences } from './environment-references.ts';
import { PARSE_TERMS } from './faults/schema-issues.ts';

const FILE_KEYS = new Set(['ca', 'cert', 'key', 'clientCa']);

export interface LoadConfigOptions<Loaded = Config> {
  /** Path of the file; default: SPANSCORE_CONFIG, else the file in `cwd`, else none. */
  readonly path?: string | undefined;
  /** Values by dotted path; they override everything. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Default: the environment of this process. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
  /** Existing scorers; undefined: names are not checked. */
  readonly scorers?: readonly KnownScorer[];
  /** Further checks: of files that the configuration names, and of parts created from it. */
  readonly check?: ((config: Loaded) => Promise<readonly ConfigIssue[]>) | undefined;
}

export interface LoadedConfig<Loaded = Config> {
  readonly config: Loaded;
  /** Absolute path of the file that was read. */
  readonly file: string | undefined;
  /** Returns the origin of the value at a path. */
  readonly findOrigin: (path: KeyPath) => Origin;
  /** Probable mistakes that do not prevent the start. */
  readonly warnings: readonly string[];
  /** Notes to print at the start. */
  readonly notes: readonly string[];
}

/**
 * Loads the configuration: defaults < file < SPANSCORE_… variables < flags, checked as a whole. Throws a `ConfigError` that
 * lists every fault.
 */
export async function loadConfig(
  format: ConfigFormat,
  options: LoadConfigOptions = {},
): Promise<LoadedConfig> {
  const cwd = options.cwd ?? process.cwd();
  const variables = options.variables ?? environment();
  const settable = format.settablePaths();
  const fromEnvironment = environmentOverrides(variables, settable);
  const named = options.path ?? (variables['SPANSCORE_CONFIG'] || undefined);
  const path = named === undefined ? findConfigFile(cwd) : resolve(cwd, named);
  const file = path === undefined ? undefined : await readConfigFile(path);
  const overrides = [
    ...judgeOverride(variables),
    ...fromEnvironment.overrides,
    ...flagOverrides(options.flags ?? {}),
  ];
  const layers = stackLayers(file, overrides, { variables, settable });
  const parse = parseLayers(layers, format);
  const judge = variables['SPANSCORE_JUDGE'] ? defaultJudge(parse.parsed) : undefined;
  const findFolder = (keys: KeyPath) =>
    file !== undefined && layers.findOrigin(keys).kind === 'file' ? dirname(file.path) : cwd;
  const config = finish(parse.parsed, {
    scorers: options.scorers,
    judge,
    findFolder,
    components: format.components,
  });
  const issues = await allIssues(parse, { config, file, layers, options, components: format.components });
  if (config === undefined || issues.length > 0) {
    throw createConfigError(formatSubject(file), issues, layers.buildPlace);
  }
  return {
    config,
    file: file?.path,
    findOrigin: layers.findOrigin,
    warnings: [
      ...fromEnvironment.warnings,
      ...listOpenDoors(config, format.components.receivers),
      ...openJudges(config),
      ...missingKeys(config, options.scorers, variables),
      ...uselessLimits(config),
      ...uselessOptions(config),
    ],
    notes: parse.parsed?.rules === undefined ? [defaultRuleNote(judge)] : [],
  };
}

function defaultJudge(parsed: ParsedConfig | undefined): DefaultJudge | undefined {
  const model = parsed?.judges.default;
  return model === undefined
    ? undefined
    : { model, hasPrice: findPrice(model, parsed?.judges.prices ?? {}) !== undefined };
}

/** Returns every fault: of the text, of references, of the schema, and between sound values. */
async function allIssues(
  parse: LenientParse<ParsedConfig>,
  {
    config,
    file,
    layers,
    options,
    components,
  }: {
    readonly config: Config | undefined;
    readonly file: ConfigFile | undefined;
    readonly layers: Layers;
    readonly options: LoadConfigOptions;
    readonly components: Components;
  },
): Promise<ConfigIssue[]> {
  const brokenFrom = file?.brokenFrom;
  if (brokenFrom !== undefined) {
    // The unreadable rest of the file may hold the keys that seem missing or contradictory.
    const isBefore = ({ path }: ConfigIssue) =>
      (layers.buildPlace(path).position?.line ?? brokenFrom) < brokenFrom;
    const certain = parse.issues.filter(({ isAboutOneValue }) => isAboutOneValue === true).filter(isBefore);
    return [...(file?.issues ?? []), ...layers.issues.filter(isBefore), ...certain];
  }
  const concluded =
    config === undefined
      ? []
      : [
          ...crossIssues(config, { known: options.scorers, components }),
          ...((await options.check?.(config)) ?? []),
        ];
  return [...(file?.issues ?? []), ...layers.issues, ...parse.issues, ...soundIssues(concluded, parse)];
}

/** Selects issues whose values are all sound, with the paths of the original value. */
function soundIssues(
  issues: readonly ConfigIssue[],
  { isSound, writtenPath }: LenientParse<ParsedConfig>,
): ConfigIssue[] {
  return issues
    .map((issue) => ({
      ...issue,
      path: writtenPath(issue.path),
      dependsOn: (issue.dependsOn ?? []).map((path) => writtenPath(path)),
    }))
    .filter(({ path, dependsOn }) => isSound([path, ...dependsOn]));
}

/** Checks a configuration given as a value, as `defineConfig` returns it. Throws a `ConfigError`. */
export function parseConfig(
  { components, schema, jsonSchema }: ConfigFormat,
  input: object,
  options: { cwd?: string; scorers?: readonly KnownScorer[] } = {},
): Config {
  const parse = parseLeniently(input, { schema, jsonSchema: jsonSchema() });
  const cwd = options.cwd ?? process.cwd();
  const config = finish(parse.parsed, {
    scorers: options.scorers,
    judge: undefined,
    findFolder: () => cwd,
    components,
  });
  const concluded = config === undefined ? [] : crossIssues(config, { known: options.scorers, components });
  const issues = [...parse.issues, ...soundIssues(concluded, parse)];
  if (config === undefined || issues.length > 0) {
    throw createConfigError('the configuration', issues, () => ({ kind: 'default', where: '' }));
  }
  return config;
}

function finish(
  parsed: ParsedConfig | undefined,
  options: {
    scorers: readonly KnownScorer[] | undefined;
    judge: DefaultJudge | undefined;
    findFolder: FindFolder;
    components: Components;
  },
): Config | undefined {
  if (parsed === undefined) {
    return undefined;
  }
  const { $schema: _, ...rest } = parsed;
  const scorers = Object.entries(parsed.scorers).map(([name, entry]) => {
    const folder = options.findFolder(['scorers', name, 'module']);
    return [name, entry.module === undefined ? entry : { ...entry, module: resolve(folder, entry.module) }];
  });
  return {
    ...rest,
    store: {
      ...parsed.store,
      dataDir: resolve(options.findFolder(['store', 'dataDir']), parsed.store.dataDir),
    },
    scorers: Object.fromEntries(scorers) as ParsedConfig['scorers'],
    monitors: parsed.monitors.map((entry, index) =>
      typeof entry === 'string' ? resolve(options.findFolder(['monitors', index]), entry) : entry,
    ),
    ...withAbsoluteTls(parsed, options.components.receivers, options.findFolder),
    rules: parsed.rules ?? [defaultRule(options.scorers, options.judge)],
  };
}

/** Returns warnings about endpoints that a valid configuration opens to the network. */
export function listOpenDoors(config: Config, receivers: readonly ReceiverSection[]): string[] {
  const doors = listEndpoints(config, receivers)
    .map(({ path, ...rest }) => ({ path: path.join('.'), ...rest }))
    .filter(({ endpoint }) => !isLoopbackHost(parseEndpoint(endpoint).host));
  return doors.flatMap(({ path, endpoint, tls }) => {
    if (config.auth.tokens.length === 0) {
      return [`${path}.endpoint: everyone who can reach ${endpoint} may send spans: set auth.tokens`];
    }
    return tls === undefined
      ? [
          `${path}: tokens sent to ${endpoint} are readable on the network: set ${path}.tls, or put a TLS proxy in front`,
        ]
      : [];
  });
}

/** Returns the base folder of a relative path in a value. */
type FindFolder = (path: KeyPath) => string;

/** Parts of a configuration that name TLS files. */
type WithTls = Pick<ParsedConfig, 'receivers' | 'api'>;

/** Returns the parts with absolute paths of their TLS files. */
function withAbsoluteTls(
  { receivers, api }: WithTls,
  sections: readonly ReceiverSection[],
  findFolder: FindFolder,
): WithTls {
  const at = <T extends { tls?: object | undefined }>(part: T, path: KeyPath): T =>
    part.tls === undefined ? part : { ...part, tls: absolute(part.tls, [...path, 'tls'], findFolder) };
  const listed = listReceivers({ receivers }, sections);
  return {
    ...listed.reduce(
      (whole, { path, options }) => withValueAt(whole, path, at(options, path)) as Pick<WithTls, 'receivers'>,
      { receivers },
    ),
    api: at(api, ['api']),
  };
}

function absolute(tls: object, path: KeyPath, findFolder: FindFolder): object {
  return Object.fromEntries(
    Object.entries(tls).map(([key, value]: [string, unknown]) =>
      FILE_KEYS.has(key) && typeof value === 'string'
        ? [key, resolve(findFolder([...path, key]), value)]
        : [key, value],
    ),
  );
}

/** The unchecked configuration: the file, overridden by variables and flags. */
interface Layers {
  readonly value: unknown;
  /** Paths of texts that came from variables or flags; such a text may stand for a number. */
  readonly textual: ReadonlySet<string>;
  /** Issues of references to unset variables, and of flags that set nothing. */
  readonly issues: readonly ConfigIssue[];
  /** Paths without a value, because a reference could not be replaced. */
  readonly unusable: readonly KeyPath[];
  readonly findOrigin: (path: KeyPath) => Origin;
  /** Like `findOrigin`; for a missing key, returns the place of its group. */
  readonly buildPlace: (path: KeyPath) => Origin;
}

/** Environment of the program, and the paths of the values that it can set. */
interface Outside {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly settable: readonly string[][];
}

/** Applies variables and flags to a file. */
function stackLayers(
  file: ConfigFile | undefined,
  overrides: readonly Override[],
  { variables, settable }: Outside,
): Layers {
  const resolved = resolveReferences(file?.value ?? {}, (name) => variables[name] || undefined);
  const findOrigin = (path: KeyPath): Origin => {
    const override = overrides.findLast((entry) => showPath(entry.path) === showPath(path));
    if (override !== undefined) {
      return { kind: override.where.startsWith('--') ? 'flag' : 'environment', where: override.where };
    }
    const isInFile = file !== undefined && (valueAt(file.value, path) !== undefined || path.length === 0);
    return isInFile
      ? throughVariable(file.findOrigin(path), resolved.touched.get(JSON.stringify(path)))
      : { kind: 'default', where: '' };
  };
  const known = overrides.filter((entry) => unknownOverride(entry, settable).length === 0);
  const value = known.reduce((whole, entry) => withValueAt(whole, entry.path, entry.value), resolved.value);
  const textual = new Set([...resolved.touched.keys(), ...known.map((entry) => JSON.stringify(entry.path))]);
  const isOverridden = ({ path }: ConfigIssue) =>
    known.some((entry) => showPath(entry.path) === showPath(path));
  const unresolved = resolved.issues.filter((issue) => !isOverridden(issue));
  return {
    value,
    textual,
    issues: [...unresolved, ...overrides.flatMap((entry) => unknownOverride(entry, settable))],
    unusable: unresolved.map(({ path }) => path),
    findOrigin,
    buildPlace: (path) => {
      const origin = findOrigin(path);
      return origin.where === '' && file !== undefined ? file.findOrigin(path) : origin;
    },
  };
}

/** Returns the origin of a value that the file took from a variable. */
function throughVariable(origin: Origin, variable: string | undefined): Origin {
  const suffix = variable === undefined ? '' : ` (${variable})`;
  return { ...origin, where: `${origin.where}${suffix}`, place: `${origin.place ?? origin.where}${suffix}` };
}

function unknownOverride(entry: Override, settable: readonly string[][]): ConfigIssue[] {
  const paths = settable.map((path) => path.join('.'));
  const key = entry.path.join('.');
  if (paths.includes(key)) {
    return [];
  }
  const meant = nearest(key, paths);
  return [
    {
      path: entry.path,
      message: `names no key that a variable or flag can set${meant === undefined ? '' : `; did you mean ${meant}?`}`,
      origin: { kind: 'flag', where: entry.where },
    },
  ];
}

/** Converts texts of variables and flags to numbers or booleans where the schema wants them, then checks everything. */
function parseLayers(
  { value, textual, unusable }: Layers,
  { schema, jsonSchema }: ConfigFormat,
): LenientParse<ParsedConfig> {
  const first = schema.safeParse(value, PARSE_TERMS);
  const issues = first.success ? [] : first.error.issues;
  const typed = issues.reduce<unknown>((whole, issue) => convertType(whole, issue, textual), value);
  return parseLeniently(typed, { schema, jsonSchema: jsonSchema() }, unusable);
}

function convertType(value: unknown, issue: z.core.$ZodIssue, textual: ReadonlySet<string>): unknown {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (
    issue.code !== 'invalid_type' ||
    typeof issue.input !== 'string' ||
    !textual.has(JSON.stringify(path))
  ) {
    return value;
  }
  if (issue.expected === 'number' && issue.input.trim() !== '' && Number.isFinite(Number(issue.input))) {
    return withValueAt(value, path, Number(issue.input));
  }
  if (issue.expected === 'boolean' && ['true', 'false'].includes(issue.input)) {
    return withValueAt(value, path, issue.input === 'true');
  }
  return value;
}

/** Returns the subject of messages: the path of the file, or `the configuration` without a file. */
function formatSubject(file: ConfigFile | undefined): string {
  return file?.path ?? 'the configuration';
}

import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { findPrice } from '../domain/money/model-prices.ts';
import { isLoopbackHost, parseEndpoint } from './addresses/endpoints.ts';
import { crossIssues } from './checks/cross-checks.ts';
import { judgeWarnings } from './checks/judge-checks.ts';
import { defaultRule, defaultRuleNote, type DefaultJudge, type KnownScorer } from './schema/rules.ts';
import { DEFAULT_MONITORS } from './schema/monitors.ts';
import { environment } from './environment.ts';
import { createConfigError, type ConfigIssue, type Origin } from './faults/config-issue.ts';
import { type LenientParse, parseLeniently } from './faults/lenient-parse.ts';
import { PARSE_TERMS } from './faults/schema-issues.ts';
import { type ConfigFile, findConfigFile, readConfigFile } from './files/config-file.ts';
import { withAbsoluteModules } from './files/side-files.ts';
import { createConfigJsonSchema, type JsonSchemaNode, settablePaths } from './json-schema.ts';
import { type KeyPath, withValueAt } from './key-path.ts';
import { convertTexts, type Layers, stackLayers } from './layers.ts';
import { createConfigSchema, type Config, type ConfigInput, type ParsedConfig } from './schema.ts';
import { type Components, listEndpoints, listReceivers, type ReceiverSection } from './schema/components.ts';

const FILE_KEYS = new Set(['ca', 'cert', 'key', 'clientCa']);

export interface LoadConfigOptions<Loaded = Config> {
  /** Path of the file; default: SPANSCORE_CONFIG, else the file in `cwd`, else none. */
  readonly path?: string | undefined;
  /** Content of the file, to check it before it is written. Default: what the file holds. */
  readonly text?: string | undefined;
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
  readonly findOrigin: (path: KeyPath) => Origin;
  /** Probable mistakes that do not prevent the start. */
  readonly warnings: readonly string[];
  /** Notes to print at the start. */
  readonly notes: readonly string[];
}

export interface ParseConfigOptions {
  /** Base folder of relative paths. Default: the working directory. */
  readonly cwd?: string;
  /** Existing scorers; undefined: names are not checked. */
  readonly scorers?: readonly KnownScorer[];
}

export type ConfigReader<Listed extends Components> = ReturnType<typeof createConfigReader<Listed>>;

/** Creates the reader of configurations with sections for these components. */
export function createConfigReader<const Listed extends Components>(components: Listed) {
  const schema = createConfigSchema(components);
  let created: JsonSchemaNode | undefined;
  const jsonSchema = () => (created ??= createConfigJsonSchema(schema));
  // The schema adds the sections of the components to each configuration; the types of this room know only the other keys.
  const format = { components, schema: schema as unknown as z.ZodType<ParsedConfig>, jsonSchema };
  return {
    schema,
    /** Returns the JSON Schema (draft 2020-12) of the configuration, for editors. */
    jsonSchema,
    /**
     * Loads the configuration: defaults < file < SPANSCORE_… variables < flags, checked as a whole. Throws a `ConfigError` that
     * lists every fault.
     */
    loadConfig: (options?: LoadConfigOptions<Config<Listed>>) =>
      loadConfig(format, options as LoadConfigOptions | undefined) as unknown as Promise<
        LoadedConfig<Config<Listed>>
      >,
    /** Checks a configuration given as a value, as `defineConfig` returns it. Throws a `ConfigError`. */
    parseConfig: (input: ConfigInput<Listed>, options?: ParseConfigOptions) =>
      parseConfig(format, input, options) as unknown as Config<Listed>,
  };
}

/** Components that a configuration has sections for, and its schemas. */
interface ConfigFormat {
  readonly components: Components;
  readonly schema: z.ZodType<ParsedConfig>;
  /** Created at the first use, which takes longer than to read a sound configuration without it. */
  readonly jsonSchema: () => JsonSchemaNode;
}

async function loadConfig(format: ConfigFormat, options: LoadConfigOptions = {}): Promise<LoadedConfig> {
  const { cwd = process.cwd(), variables = environment(), flags, scorers } = options;
  const { components } = format;
  const file = await openFile(cwd, options.path ?? variables['SPANSCORE_CONFIG'], options.text);
  const layers = stackLayers(file, {
    variables,
    flags,
    listSettable: () => settablePaths(format.jsonSchema()),
  });
  const parse = parseLayers(layers, format);
  const judge = defaultJudge(parse.parsed, variables);
  const findFolder = (keys: KeyPath) =>
    file !== undefined && layers.findOrigin(keys).kind === 'file' ? dirname(file.path) : cwd;
  const config = finish(parse.parsed, { scorers, judge, findFolder, components });
  const further = config === undefined || file?.brokenFrom !== undefined ? [] : await options.check?.(config);
  const crossed = conclude(config, parse, { components, scorers, further });
  const issues = listIssues(file, layers, { ...parse, crossed });
  if (config === undefined || issues.length > 0) {
    throw createConfigError(file?.path ?? 'the configuration', issues, layers.buildPlace);
  }
  return {
    config,
    file: file?.path,
    findOrigin: layers.findOrigin,
    warnings: [
      ...layers.warnings,
      ...listOpenDoors(config, components.receivers),
      ...judgeWarnings(config, scorers, variables),
    ],
    notes: parse.parsed?.rules ? [] : [defaultRuleNote(judge)],
  };
}

async function openFile(
  cwd: string,
  named: string | undefined,
  text?: string,
): Promise<ConfigFile | undefined> {
  const path = named ? resolve(cwd, named) : findConfigFile(cwd);
  return path === undefined ? undefined : readConfigFile(path, text);
}

/** Parses the layers, with texts of variables and flags as the types that the schema wants. */
function parseLayers(layers: Layers, { schema, jsonSchema }: ConfigFormat): LenientParse<ParsedConfig> {
  const first = schema.safeParse(layers.value, PARSE_TERMS);
  const typed = convertTexts(layers, first.success ? [] : first.error.issues);
  return parseLeniently(typed, { schema, jsonSchema }, layers.unusable);
}

/** Returns the judge of the default rule. A judge of the file alone calls none. */
function defaultJudge(
  parsed: ParsedConfig | undefined,
  { SPANSCORE_JUDGE: named }: Readonly<Record<string, string | undefined>>,
): DefaultJudge | undefined {
  const model = parsed?.judges.default;
  return !named || model === undefined
    ? undefined
    : { model, hasPrice: findPrice(model, parsed?.judges.prices ?? {}) !== undefined };
}

/** Lists the faults of the text, of references, of the schema, and between keys. */
function listIssues(
  file: ConfigFile | undefined,
  layers: Layers,
  { issues, crossed }: { readonly issues: readonly ConfigIssue[]; readonly crossed: readonly ConfigIssue[] },
): ConfigIssue[] {
  const { issues: faults = [], brokenFrom: line } = file ?? {};
  if (line === undefined) {
    return [...faults, ...layers.issues, ...issues, ...crossed];
  }
  // The unreadable rest of the file may hold the keys that seem missing or contradictory.
  const certain = issues.filter(({ isAboutOneValue }) => isAboutOneValue === true);
  const before = [...layers.issues, ...certain].filter(
    ({ path }) => (layers.buildPlace(path).position?.line ?? line) < line,
  );
  return [...faults, ...before];
}

/** Lists the faults between keys whose values are all sound, with the paths of the original value. */
function conclude(
  config: Config | undefined,
  { isSound, writtenPath }: LenientParse<ParsedConfig>,
  {
    components,
    scorers,
    further = [],
  }: {
    readonly components: Components;
    readonly scorers: readonly KnownScorer[] | undefined;
    readonly further?: readonly ConfigIssue[] | undefined;
  },
): ConfigIssue[] {
  const issues = config === undefined ? [] : crossIssues(config, { known: scorers, components });
  return [...issues, ...further]
    .map((issue) => ({
      ...issue,
      path: writtenPath(issue.path),
      dependsOn: (issue.dependsOn ?? []).map((path) => writtenPath(path)),
    }))
    .filter(({ path, dependsOn }) => isSound([path, ...dependsOn]));
}

function parseConfig(
  { components, schema, jsonSchema }: ConfigFormat,
  input: object,
  { cwd = process.cwd(), scorers }: ParseConfigOptions = {},
): Config {
  const parse = parseLeniently(input, { schema, jsonSchema });
  const config = finish(parse.parsed, { scorers, judge: undefined, findFolder: () => cwd, components });
  const issues = [...parse.issues, ...conclude(config, parse, { components, scorers })];
  if (config === undefined || issues.length > 0) {
    throw createConfigError('the configuration', issues);
  }
  return config;
}

/** Returns the base folder of a relative path in a value. */
type FindFolder = (path: KeyPath) => string;

interface FinishTerms {
  readonly scorers: readonly KnownScorer[] | undefined;
  readonly judge: DefaultJudge | undefined;
  readonly findFolder: FindFolder;
  readonly components: Components;
}

/** Adds the default rule and the default monitors, and makes paths absolute. */
function finish(
  parsed: ParsedConfig | undefined,
  { scorers, judge, findFolder, components }: FinishTerms,
): Config | undefined {
  if (parsed === undefined) {
    return undefined;
  }
  const { $schema: _, rules = [defaultRule(scorers, judge)], ...rest } = parsed;
  const { store, monitors = DEFAULT_MONITORS, judges } = parsed;
  return {
    ...rest,
    judges: {
      ...judges,
      packagesFrom: resolve(findFolder(['judges']), judges.packagesFrom ?? '.'),
    },
    store: { ...store, dataDir: resolve(findFolder(['store', 'dataDir']), store.dataDir) },
    scorers: withAbsoluteModules(parsed.scorers, (name) => findFolder(['scorers', name, 'module'])),
    monitors: monitors.map((entry, index) =>
      typeof entry === 'string' ? resolve(findFolder(['monitors', index]), entry) : entry,
    ),
    ...withAbsoluteTls(parsed, components.receivers, findFolder),
    rules,
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

type WithTls = Pick<ParsedConfig, 'receivers' | 'api'>;

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

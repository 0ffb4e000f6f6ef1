import { glob } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../../domain/errors.ts';
import { findSeriesFaults, type ScoreSources } from '../checks/scorer-checks.ts';
import { environment, resolveReferences } from '../environment.ts';
import { type ConfigIssue, createConfigError, issueIf } from '../faults/config-issue.ts';
import { parseLeniently } from '../faults/lenient-parse.ts';
import {
  type JsonSchemaNode,
  monitorFileJsonSchema,
  monitorTestFileJsonSchema,
  toJsonSchema,
} from '../json-schema.ts';
import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';
import {
  type MonitorGroup,
  monitorFileSchema,
  type MonitorTest,
  monitorTestFileSchema,
} from '../schema/monitors.ts';
import { Rules, Scorers, type Rule, type Scorer } from '../schema/rules.ts';
import { readConfigFile } from './config-file.ts';

// Files beside the configuration: rules, monitors, and tests of monitors.

/**
 * Reads the usable values of a file beside the configuration (YAML, JSON or a module), replaces `${env:…}`, and checks it against its
 * schema.
 * @param crossCheck finds faults between keys
 */
async function readCheckedFile<Schema extends z.ZodType>(
  path: string,
  schemas: { readonly schema: Schema; readonly jsonSchema: () => JsonSchemaNode },
  crossCheck: (value: z.infer<Schema>) => readonly ConfigIssue[] = () => [],
): Promise<{ value: z.infer<Schema> | undefined; issues: readonly ConfigIssue[] }> {
  const file = await readConfigFile(path).catch((error: unknown) => {
    if (error instanceof ConfigError) {
      return error;
    }
    throw error;
  });
  if (file instanceof ConfigError) {
    const origin = { kind: 'file', where: '', file: path } as const;
    return { value: undefined, issues: [{ path: [], message: file.message, origin }] };
  }
  const variables = environment();
  const resolved = resolveReferences(file.value, (name) => variables[name] || undefined);
  const parse = parseLeniently(
    resolved.value,
    schemas,
    resolved.issues.map((issue) => issue.path),
  );
  const concluded = (parse.parsed === undefined ? [] : crossCheck(parse.parsed))
    .map((issue) => ({ ...issue, path: parse.writtenPath(issue.path) }))
    .filter(({ path: at }) => parse.isSound([at]));
  const readable = file.brokenFrom === undefined ? [...resolved.issues, ...parse.issues, ...concluded] : [];
  return {
    value: parse.parsed,
    issues: [...file.issues, ...readable.map((issue) => ({ ...issue, origin: file.findOrigin(issue.path) }))],
  };
}

/** Rules and scorers of a file that is no whole configuration. */
export interface RuleFile {
  readonly rules: readonly Rule[];
  /** By name; paths of modules are absolute. */
  readonly scorers: Readonly<Record<string, Scorer>>;
}

const ruleFileSchema = z.strictObject({ rules: Rules.min(1), scorers: Scorers.prefault({}) });

/** Reads a file with `rules`, and `scorers` if they need new ones. Throws a `ConfigError` that lists every fault with its line. */
export async function loadRuleFile(path: string): Promise<RuleFile> {
  const { value, issues } = await readCheckedFile(path, {
    schema: ruleFileSchema,
    jsonSchema: () => toJsonSchema(ruleFileSchema),
  });
  throwIssues(path, issues);
  const { rules = [], scorers = {} } = value ?? {};
  return { rules, scorers: withAbsoluteModules(scorers, () => dirname(path)) };
}

export function withAbsoluteModules(
  scorers: Readonly<Record<string, Scorer>>,
  findFolder: (name: string) => string,
): Record<string, Scorer> {
  const absolute = Object.entries(scorers).map(([name, entry]): [string, Scorer] => [
    name,
    entry.module === undefined ? entry : { ...entry, module: resolve(findFolder(name), entry.module) },
  ]);
  return Object.fromEntries(absolute);
}

/** File of monitor rules, read and checked. */
export interface MonitorFile {
  /** Absolute path. */
  readonly path: string;
  readonly groups: readonly MonitorGroup[];
}

/** File of tests, with its files of rules. */
export interface MonitorTestFile {
  /** Absolute path. */
  readonly path: string;
  readonly rules: readonly MonitorFile[];
  readonly tests: readonly MonitorTest[];
}

/** Pattern of file names, and the path of the key that holds it. */
interface Pattern {
  readonly pattern: string;
  readonly path: KeyPath;
}

/** Names and sources of scores that the rules of several files are checked against. */
interface Surroundings {
  /** Names of alerts, each with the place where it was first read. */
  readonly names: Map<string, string>;
  /** Absent: what the rules watch is not checked. */
  readonly sources?: ScoreSources | undefined;
}

/**
 * Reads files of monitor rules, given by paths or patterns. Throws a `ConfigError` that lists every fault of every file
 * with its line.
 * @param sources what the rules must watch; absent: that is not checked
 */
export async function loadMonitorFiles(
  patterns: readonly string[],
  cwd: string,
  sources?: ScoreSources,
): Promise<MonitorFile[]> {
  const { files, issues } = await readMonitorFiles(
    patterns.map((pattern) => ({ pattern, path: [] })),
    cwd,
    { names: new Map(), sources },
  );
  throwIssues('the monitor files', issues);
  return files;
}

/** Reads the monitors of a configuration, from its files and from inline groups. Returns them with every fault. */
export async function readConfiguredMonitors(
  { monitors, scorers, rules }: Pick<Config, 'monitors' | 'scorers' | 'rules'>,
  known: ScoreSources['known'],
): Promise<{ groups: MonitorGroup[]; issues: ConfigIssue[] }> {
  const surroundings = { names: new Map(), sources: { scorers, rules, known } };
  const patterns = monitors.flatMap((entry, index) =>
    typeof entry === 'string' ? [{ pattern: entry, path: ['monitors', index] }] : [],
  );
  const { files, issues } = await readMonitorFiles(patterns, process.cwd(), surroundings);
  const groups = files.flatMap((file) => file.groups);
  for (const [index, entry] of monitors.entries()) {
    if (typeof entry !== 'string') {
      groups.push(...entry.groups);
      issues.push(...ruleIssues(entry.groups, ['monitors', index], 'the configuration', surroundings));
    }
  }
  return { groups, issues };
}

/** Reads a file of tests with the rules that it names. Throws like `loadMonitorFiles`. */
export async function loadMonitorTests(path: string): Promise<MonitorTestFile> {
  const { value, issues } = await readCheckedFile(path, {
    schema: monitorTestFileSchema,
    jsonSchema: monitorTestFileJsonSchema,
  });
  throwIssues(path, issues);
  const { rules = [], tests = [] } = value ?? {};
  return { path, rules: await loadMonitorFiles(rules, dirname(path)), tests };
}

function throwIssues(subject: string, issues: readonly ConfigIssue[]): void {
  if (issues.length > 0) {
    throw createConfigError(subject, issues);
  }
}

async function readMonitorFiles(
  patterns: readonly Pattern[],
  cwd: string,
  surroundings: Surroundings,
): Promise<{ files: MonitorFile[]; issues: ConfigIssue[] }> {
  const { paths, issues } = await findFiles(patterns, cwd);
  const files: MonitorFile[] = [];
  for (const path of paths) {
    const { value, issues: found } = await readCheckedFile(
      path,
      { schema: monitorFileSchema, jsonSchema: monitorFileJsonSchema },
      ({ groups }) => ruleIssues(groups, [], path, surroundings),
    );
    issues.push(...found);
    files.push({ path, groups: value?.groups ?? [] });
  }
  return { files, issues };
}

/** Returns the files that match patterns, each once, in order of their names. A pattern without a match is a fault. */
async function findFiles(
  patterns: readonly Pattern[],
  cwd: string,
): Promise<{ paths: string[]; issues: ConfigIssue[] }> {
  const found = new Set<string>();
  const issues: ConfigIssue[] = [];
  for (const { pattern, path } of patterns) {
    let matched = false;
    for await (const name of glob(pattern, { cwd })) {
      matched = true;
      found.add(resolve(cwd, name));
    }
    if (!matched) {
      issues.push({ path, message: `there is no file ${pattern} in ${cwd}: name files that exist` });
    }
  }
  return { paths: [...found].sort(), issues };
}

function ruleIssues(
  groups: readonly MonitorGroup[],
  parent: KeyPath,
  place: string,
  { names, sources }: Surroundings,
): ConfigIssue[] {
  return [
    ...sameNames(groups, parent, place, names),
    ...(sources === undefined ? [] : seriesIssues(groups, parent, sources)),
  ];
}

function seriesIssues(
  groups: readonly MonitorGroup[],
  parent: KeyPath,
  sources: ScoreSources,
): ConfigIssue[] {
  return groups.flatMap(({ rules }, group) =>
    rules.flatMap(({ series }, rule) =>
      findSeriesFaults(series, sources).map(({ key, message, dependsOn }) => ({
        path: [...parent, 'groups', group, 'rules', rule, 'series', key],
        message,
        dependsOn: [dependsOn],
      })),
    ),
  );
}

/** Reports alerts with the name of another rule: they would be one alert with two conditions. */
function sameNames(
  groups: readonly MonitorGroup[],
  parent: KeyPath,
  place: string,
  names: Surroundings['names'],
): ConfigIssue[] {
  return groups.flatMap(({ rules }, group) =>
    rules.flatMap(({ alert }, rule) => {
      const other = names.get(alert);
      names.set(alert, other ?? place);
      return issueIf(
        other !== undefined,
        [...parent, 'groups', group, 'rules', rule, 'alert'],
        `another rule of ${other === place ? 'this file' : other} has the name ${alert} too; give each alert a different name`,
      );
    }),
  );
}

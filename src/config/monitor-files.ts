import { glob } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ConfigError } from '../domain/errors.ts';
import { readCheckedFile } from './checked-file.ts';
import type { ConfigIssue } from './config-issue.ts';
import { monitorFileJsonSchema, monitorTestFileJsonSchema } from './json-schema.ts';
import { type MonitorTest, monitorTestFileSchema } from './schema/monitor-tests.ts';
import { type MonitorGroup, monitorFileSchema } from './schema/monitors.ts';

/** A file of monitor rules as it was read and checked. */
export interface MonitorFile {
  /** Absolute path. */
  readonly path: string;
  readonly groups: readonly MonitorGroup[];
}

/** A file of expectations, and the files of rules that they are about. */
export interface MonitorTestFile {
  /** Absolute path. */
  readonly path: string;
  readonly rules: readonly MonitorFile[];
  readonly tests: readonly MonitorTest[];
}

/** Reads files of monitor rules, by paths or patterns. Throws a `ConfigError` that lists every fault of a file with its line. */
export async function loadMonitorFiles(patterns: readonly string[], cwd: string): Promise<MonitorFile[]> {
  const files: MonitorFile[] = [];
  const named = new Map<string, string>();
  for (const path of await findFiles(patterns, cwd)) {
    const { groups } = await readCheckedFile(
      path,
      { schema: monitorFileSchema, jsonSchema: monitorFileJsonSchema() },
      ({ groups: read }) => sameNames(read, named),
    );
    for (const { alert } of groups.flatMap((group) => group.rules)) {
      named.set(alert, path);
    }
    files.push({ path, groups });
  }
  return files;
}

/** Reads a file of expectations with the rules that it names. Throws as `loadMonitorFiles`. */
export async function loadMonitorTests(path: string): Promise<MonitorTestFile> {
  const { rules, tests } = await readCheckedFile(path, {
    schema: monitorTestFileSchema,
    jsonSchema: monitorTestFileJsonSchema(),
  });
  return { path, rules: await loadMonitorFiles(rules, dirname(path)), tests };
}

/** The files that match patterns, each once, in order of their names. A pattern that matches none is refused. */
async function findFiles(patterns: readonly string[], cwd: string): Promise<string[]> {
  const found = new Set<string>();
  for (const pattern of patterns) {
    let matched = false;
    for await (const name of glob(pattern, { cwd })) {
      matched = true;
      found.add(resolve(cwd, name));
    }
    if (!matched) {
      throw new ConfigError(`there is no file ${pattern} in ${cwd}: name files that exist`, { pattern });
    }
  }
  return [...found].sort();
}

/** Alerts are told apart by name: twice the same would be one alert with two minds. */
function sameNames(groups: readonly MonitorGroup[], elsewhere: ReadonlyMap<string, string>): ConfigIssue[] {
  const seen = new Set<string>();
  return groups.flatMap(({ rules }, group) =>
    rules.flatMap(({ alert }, rule) => {
      const other = seen.has(alert) ? 'this file' : elsewhere.get(alert);
      seen.add(alert);
      return other === undefined
        ? []
        : [
            {
              path: ['groups', group, 'rules', rule, 'alert'],
              message: `another rule of ${other} is named ${alert} too`,
            },
          ];
    }),
  );
}

import { glob } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ConfigError } from '../domain/errors.ts';
import { readConfigFile } from './config-file.ts';
import { configErrorOf } from './config-issue.ts';
import { environment } from './environment.ts';
import { resolveReferences } from './environment-references.ts';
import { monitorFileJsonSchema } from './json-schema.ts';
import { type MonitorGroup, monitorFileSchema } from './schema/monitors.ts';
import { issuesOf } from './schema-issues.ts';

/** A file of monitor rules as it was read and checked. */
export interface MonitorFile {
  /** Absolute path. */
  readonly path: string;
  readonly groups: readonly MonitorGroup[];
}

/** Reads one file of monitor rules. Throws a `ConfigError` that lists every fault with its line. */
export async function loadMonitorFile(path: string): Promise<MonitorFile> {
  const file = await readConfigFile(path);
  const variables = environment();
  const resolved = resolveReferences(file.value, (name) => variables[name] || undefined);
  const parsed = monitorFileSchema.safeParse(resolved.value, { reportInput: true });
  const issues = [
    ...resolved.issues,
    ...(parsed.success ? sameNames(parsed.data.groups) : issuesOf(parsed.error, monitorFileJsonSchema())),
  ];
  if (!parsed.success || issues.length > 0) {
    throw configErrorOf(path, issues, (place) => ({ kind: 'file', where: file.placeOf(place) }));
  }
  return { path, groups: parsed.data.groups };
}

/** The files that match patterns of paths, each once, in order of their names. A pattern that matches none is refused. */
export async function findMonitorFiles(patterns: readonly string[], cwd: string): Promise<string[]> {
  const found = new Set<string>();
  for (const pattern of patterns) {
    const before = found.size;
    let matched = false;
    for await (const name of glob(pattern, { cwd })) {
      matched = true;
      found.add(resolve(cwd, name));
    }
    if (!matched && found.size === before) {
      throw new ConfigError(`there is no monitor file ${pattern} in ${cwd}: name files that exist`, {
        pattern,
      });
    }
  }
  return [...found].sort();
}

/** Alerts are told apart by name: twice the same in a file would be one alert with two minds. */
function sameNames(groups: readonly MonitorGroup[]) {
  const seen = new Set<string>();
  return groups.flatMap(({ rules }, group) =>
    rules.flatMap(({ alert }, rule) => {
      const twice = seen.has(alert);
      seen.add(alert);
      return twice
        ? [{ path: ['groups', group, 'rules', rule, 'alert'], message: `another rule is named ${alert} too` }]
        : [];
    }),
  );
}

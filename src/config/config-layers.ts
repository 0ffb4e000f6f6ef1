import type { z } from 'zod';
import type { ConfigFile } from './config-file.ts';
import { configErrorOf, type ConfigIssue, type Origin } from './config-issue.ts';
import { resolveReferences } from './environment-references.ts';
import { settablePaths } from './json-schema.ts';
import { showPath, valueAt, withValueAt, type KeyPath } from './key-path.ts';
import { nearest } from '../domain/nearest.ts';
import type { Override } from './overrides.ts';
import { configSchema, type ParsedConfig } from './schema.ts';
import { issuesOf, PARSE_TERMS } from './schema-issues.ts';

/** The configuration before it is checked: the file with the variables and flags laid over it. */
export interface Layers {
  readonly value: unknown;
  /** Paths whose texts came from variables or flags, and so may stand for numbers. */
  readonly textual: ReadonlySet<string>;
  readonly originOf: (path: KeyPath) => Origin;
}

/** Throws a `ConfigError` for references to variables that are not set and for flags that set nothing. */
export function layersOf(
  file: ConfigFile | undefined,
  overrides: readonly Override[],
  variables: Readonly<Record<string, string | undefined>>,
): Layers {
  const read = (name: string) => variables[name] || undefined;
  const resolved = resolveReferences(file?.value ?? {}, read);
  const originOf = (path: KeyPath): Origin => {
    const override = overrides.findLast((entry) => showPath(entry.path) === showPath(path));
    if (override !== undefined) {
      return { kind: override.where.startsWith('--') ? 'flag' : 'environment', where: override.where };
    }
    const inFile = file !== undefined && (valueAt(file.value, path) !== undefined || path.length === 0);
    const variable = resolved.touched.get(JSON.stringify(path));
    const through = variable === undefined ? '' : ` (${variable})`;
    return inFile
      ? { kind: 'file', where: `${file.placeOf(path)}${through}` }
      : { kind: 'default', where: '' };
  };
  const placed = (path: KeyPath): Origin => nearestPlace(path, originOf, file);
  const issues: ConfigIssue[] = [...resolved.issues, ...overrides.flatMap(unknownOverride)];
  if (issues.length > 0) {
    throw configErrorOf(subjectOf(file), issues, placed);
  }
  const value = overrides.reduce(
    (whole, entry) => withValueAt(whole, entry.path, entry.value),
    resolved.value,
  );
  const textual = new Set([
    ...resolved.touched.keys(),
    ...overrides.map((entry) => JSON.stringify(entry.path)),
  ]);
  return { value, textual, originOf };
}

function unknownOverride(entry: Override): ConfigIssue[] {
  const paths = settablePaths().map((path) => path.join('.'));
  const key = entry.path.join('.');
  if (paths.includes(key)) {
    return [];
  }
  const meant = nearest(key, paths);
  return [
    { path: entry.path, message: `cannot be set so${meant === undefined ? '' : `; did you mean ${meant}?`}` },
  ];
}

/** Texts of variables and flags where the schema wants a number or a boolean are read as such; then everything is checked. */
export function parseLayers(layers: Layers, file: ConfigFile | undefined): ParsedConfig {
  let { value } = layers;
  let result = configSchema.safeParse(value, PARSE_TERMS);
  if (!result.success) {
    for (const issue of result.error.issues) {
      value = retyped(value, issue, layers.textual);
    }
    result = configSchema.safeParse(value, PARSE_TERMS);
  }
  if (!result.success) {
    throw configErrorOf(subjectOf(file), issuesOf(result.error), (path) =>
      nearestPlace(path, layers.originOf, file),
    );
  }
  return result.data;
}

function retyped(value: unknown, issue: z.core.$ZodIssue, textual: ReadonlySet<string>): unknown {
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

/** Of a path that stands nowhere (a missing key): the place of what should hold it. */
function nearestPlace(
  path: KeyPath,
  originOf: (path: KeyPath) => Origin,
  file: ConfigFile | undefined,
): Origin {
  const origin = originOf(path);
  return origin.where === '' && file !== undefined ? { kind: 'file', where: file.placeOf(path) } : origin;
}

/** What messages are about. */
export function subjectOf(file: ConfigFile | undefined): string {
  return file?.path ?? 'the configuration';
}

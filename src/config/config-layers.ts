import type { z } from 'zod';
import { nearest } from '../domain/nearest.ts';
import { resolveReferences } from './environment-references.ts';
import type { ConfigIssue, Origin } from './faults/config-issue.ts';
import { type LenientParse, parseLeniently } from './faults/lenient-parse.ts';
import { PARSE_TERMS } from './faults/schema-issues.ts';
import type { ConfigFile } from './files/config-file.ts';
import { configJsonSchema, settablePaths } from './json-schema.ts';
import { showPath, valueAt, withValueAt, type KeyPath } from './key-path.ts';
import type { Override } from './overrides.ts';
import { configSchema, type ParsedConfig } from './schema.ts';

/** The configuration before it is checked: the file with the variables and flags laid over it. */
export interface Layers {
  readonly value: unknown;
  /** Paths whose texts came from variables or flags, and so may stand for numbers. */
  readonly textual: ReadonlySet<string>;
  /** References to variables that are not set, and flags that set nothing. */
  readonly issues: readonly ConfigIssue[];
  /** Paths without a value, because a reference could not be replaced. */
  readonly unusable: readonly KeyPath[];
  readonly findOrigin: (path: KeyPath) => Origin;
  /** As `findOrigin`; of a path that stands nowhere (a missing key), the place of the group around it. */
  readonly buildPlace: (path: KeyPath) => Origin;
}

/** Lays variables and flags over a file. */
export function stackLayers(
  file: ConfigFile | undefined,
  overrides: readonly Override[],
  variables: Readonly<Record<string, string | undefined>>,
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
  const known = overrides.filter((entry) => unknownOverride(entry).length === 0);
  const value = known.reduce((whole, entry) => withValueAt(whole, entry.path, entry.value), resolved.value);
  const textual = new Set([...resolved.touched.keys(), ...known.map((entry) => JSON.stringify(entry.path))]);
  const isOverridden = ({ path }: ConfigIssue) =>
    known.some((entry) => showPath(entry.path) === showPath(path));
  const unresolved = resolved.issues.filter((issue) => !isOverridden(issue));
  return {
    value,
    textual,
    issues: [...unresolved, ...overrides.flatMap(unknownOverride)],
    unusable: unresolved.map(({ path }) => path),
    findOrigin,
    buildPlace: (path) => {
      const origin = findOrigin(path);
      return origin.where === '' && file !== undefined ? file.findOrigin(path) : origin;
    },
  };
}

/** The origin of a value that a variable gave to the file. */
function throughVariable(origin: Origin, variable: string | undefined): Origin {
  const suffix = variable === undefined ? '' : ` (${variable})`;
  return { ...origin, where: `${origin.where}${suffix}`, place: `${origin.place ?? origin.where}${suffix}` };
}

function unknownOverride(entry: Override): ConfigIssue[] {
  const paths = settablePaths().map((path) => path.join('.'));
  const key = entry.path.join('.');
  if (paths.includes(key)) {
    return [];
  }
  const meant = nearest(key, paths);
  return [
    {
      path: entry.path,
      message: `cannot be set so${meant === undefined ? '' : `; did you mean ${meant}?`}`,
      origin: { kind: 'flag', where: entry.where },
    },
  ];
}

/** Texts of variables and flags where the schema wants a number or a boolean are read as such; then everything is checked. */
export function parseLayers({ value, textual, unusable }: Layers): LenientParse<ParsedConfig> {
  const first = configSchema.safeParse(value, PARSE_TERMS);
  const issues = first.success ? [] : first.error.issues;
  const typed = issues.reduce<unknown>((whole, issue) => convertType(whole, issue, textual), value);
  return parseLeniently(typed, { schema: configSchema, jsonSchema: configJsonSchema() }, unusable);
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

/** Subject of messages: the file, or the configuration without a file. */
export function formatSubject(file: ConfigFile | undefined): string {
  return file?.path ?? 'the configuration';
}

import type { z } from 'zod';
import { nearest } from '../domain/nearest.ts';
import type { ConfigFormat } from './config-format.ts';
import { resolveReferences } from './environment-references.ts';
import type { ConfigIssue, Origin } from './faults/config-issue.ts';
import { type LenientParse, parseLeniently } from './faults/lenient-parse.ts';
import { PARSE_TERMS } from './faults/schema-issues.ts';
import type { ConfigFile } from './files/config-file.ts';
import { showPath, valueAt, withValueAt, type KeyPath } from './key-path.ts';
import type { Override } from './overrides.ts';
import type { ParsedConfig } from './schema.ts';

/** The unchecked configuration: the file, overridden by variables and flags. */
export interface Layers {
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
export function stackLayers(
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
export function parseLayers(
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
export function formatSubject(file: ConfigFile | undefined): string {
  return file?.path ?? 'the configuration';
}

import type { z } from 'zod';
import { nearest } from '../domain/nearest.ts';
import { resolveReferences } from './environment.ts';
import type { ConfigIssue, Origin } from './faults/config-issue.ts';
import type { ConfigFile } from './files/config-file.ts';
import { isSame, type KeyPath, toPath, valueAt, withValueAt } from './key-path.ts';

type Variables = Readonly<Record<string, string | undefined>>;

interface Override {
  readonly path: KeyPath;
  readonly value: string;
  /** Name of the variable or the flag, for messages. */
  readonly where: string;
}

/** SPANSCORE_ variables that set no single key: the file, the judge, and variables of other tools of the project. */
const OTHER_VARIABLES = ['SPANSCORE_CONFIG', 'SPANSCORE_JUDGE', 'SPANSCORE_CHROMIUM', 'SPANSCORE_TOKEN'];

/** Returns the variable of a path: `['store', 'dataDir']` gives `SPANSCORE_STORE_DATA_DIR`. */
export function nameVariable(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toUpperCase());
  return `SPANSCORE_${words.join('_')}`;
}

/**
 * Returns the values of `SPANSCORE_…` variables, and a warning for each unknown one: it may be a misspelling, or a variable
 * for another version.
 * @param listSettable lists the paths of the values that a variable can set
 */
function environmentOverrides(
  variables: Variables,
  listSettable: () => readonly string[][],
): { overrides: Override[]; warnings: string[] } {
  const given = Object.entries(variables).flatMap(([name, value]) =>
    !name.startsWith('SPANSCORE_') || !value || OTHER_VARIABLES.includes(name) ? [] : [{ name, value }],
  );
  const settable = given.length === 0 ? [] : listSettable();
  const paths = new Map(settable.map((path) => [nameVariable(path), path]));
  const overrides: Override[] = [];
  const warnings: string[] = [];
  for (const { name, value } of given) {
    const path = paths.get(name);
    if (path !== undefined) {
      overrides.push({ path, value, where: name });
      continue;
    }
    const meant = nearest(name, [...paths.keys(), ...OTHER_VARIABLES]);
    warnings.push(`${name} sets nothing${meant === undefined ? '' : `; did you mean ${meant}?`}`);
  }
  return { overrides, warnings };
}

/** The unchecked configuration: the file, overridden by variables and flags. */
export interface Layers {
  readonly value: unknown;
  /** Paths of texts that came from variables or flags; such a text may stand for a number. */
  readonly textual: ReadonlySet<string>;
  /** Issues of references to unset variables, and of flags that set nothing. */
  readonly issues: readonly ConfigIssue[];
  /** Paths without a value, because a reference could not be replaced. */
  readonly unusable: readonly KeyPath[];
  readonly warnings: readonly string[];
  readonly findOrigin: (path: KeyPath) => Origin;
  /** Like `findOrigin`; for a missing key, returns the place of its group. */
  readonly buildPlace: (path: KeyPath) => Origin;
}

/** Settings outside of the configuration file, and the paths of the values that they can set. */
interface Outside {
  readonly variables: Variables;
  /** Values by dotted path; they override everything. */
  readonly flags: Variables | undefined;
  readonly listSettable: () => readonly string[][];
}

export function stackLayers(
  file: ConfigFile | undefined,
  { variables, flags = {}, listSettable }: Outside,
): Layers {
  const { overrides: fromEnvironment, warnings } = environmentOverrides(variables, listSettable);
  const { SPANSCORE_JUDGE: judge } = variables;
  const overrides: Override[] = [
    ...(judge ? [{ path: ['judges', 'default'], value: judge, where: 'SPANSCORE_JUDGE' }] : []),
    ...fromEnvironment,
    ...Object.entries(flags).flatMap(([key, value]) =>
      value === undefined ? [] : [{ path: toPath(key), value, where: `--set ${key}` }],
    ),
  ];
  const settable = overrides.length === 0 ? [] : listSettable();
  const resolved = resolveReferences(file?.value ?? {}, (name) => variables[name] || undefined);
  const findOrigin = (path: KeyPath): Origin => {
    const override = overrides.findLast((entry) => isSame(entry.path, path));
    if (override !== undefined) {
      return { kind: override.where.startsWith('--') ? 'flag' : 'environment', where: override.where };
    }
    const isInFile = file !== undefined && (valueAt(file.value, path) !== undefined || path.length === 0);
    return isInFile
      ? throughVariable(file.findOrigin(path), resolved.touched.get(JSON.stringify(path)))
      : { kind: 'default', where: '' };
  };
  const isKnown = ({ path }: Override) => settable.some((key) => isSame(key, path));
  const known = overrides.filter(isKnown);
  const unresolved = resolved.issues.filter(({ path }) => !known.some((entry) => isSame(entry.path, path)));
  return {
    value: known.reduce((whole, entry) => withValueAt(whole, entry.path, entry.value), resolved.value),
    textual: new Set([...resolved.touched.keys(), ...known.map((entry) => JSON.stringify(entry.path))]),
    issues: [
      ...unresolved,
      ...overrides.flatMap((entry) => (isKnown(entry) ? [] : [unknownOverride(entry, settable)])),
    ],
    unusable: unresolved.map(({ path }) => path),
    warnings,
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

function unknownOverride({ path, where }: Override, settable: readonly string[][]): ConfigIssue {
  const meant = nearest(
    path.join('.'),
    settable.map((key) => key.join('.')),
  );
  return {
    path,
    message: `names no key that a variable or flag can set${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    origin: { kind: 'flag', where },
  };
}

/** Converts texts of variables and flags to numbers or booleans where the schema wants them. */
export function convertTexts({ value, textual }: Layers, issues: readonly z.core.$ZodIssue[]): unknown {
  return issues.reduce((whole, issue) => {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
    const { code, input } = issue;
    if (code !== 'invalid_type' || typeof input !== 'string' || !textual.has(JSON.stringify(path))) {
      return whole;
    }
    if (issue.expected === 'number' && input.trim() !== '' && Number.isFinite(Number(input))) {
      return withValueAt(whole, path, Number(input));
    }
    return issue.expected === 'boolean' && ['true', 'false'].includes(input)
      ? withValueAt(whole, path, input === 'true')
      : whole;
  }, value);
}

import type { KeyPath } from './key-path.ts';
import { nearest } from '../domain/nearest.ts';

/** One value from outside the file. */
export interface Override {
  readonly path: KeyPath;
  readonly value: string;
  /** Name of the variable or the flag, for messages. */
  readonly where: string;
}

/** SPANSCORE_ variables that set no single key: the file, the judge, and variables of other tools of the project. */
const OTHER_VARIABLES = ['SPANSCORE_CONFIG', 'SPANSCORE_JUDGE', 'SPANSCORE_CHROMIUM'];

/** Returns the variable of a path: `['store', 'dataDir']` gives `SPANSCORE_STORE_DATA_DIR`. */
export function nameVariable(path: readonly string[]): string {
  const words = path.map((key) => key.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toUpperCase());
  return `SPANSCORE_${words.join('_')}`;
}

/**
 * Returns the values of `SPANSCORE_…` variables, and a warning for each unknown one: it may be a misspelling, or a variable
 * for another version.
 * @param settable paths of the values that a variable can set
 */
export function environmentOverrides(
  variables: Readonly<Record<string, string | undefined>>,
  settable: readonly string[][],
): { overrides: Override[]; warnings: string[] } {
  const paths = new Map(settable.map((path) => [nameVariable(path), path]));
  const overrides: Override[] = [];
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(variables)) {
    if (
      !name.startsWith('SPANSCORE_') ||
      value === undefined ||
      value === '' ||
      OTHER_VARIABLES.includes(name)
    ) {
      continue;
    }
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

/** Returns flags as overrides; their keys are dotted paths. */
export function flagOverrides(flags: Readonly<Record<string, string | undefined>>): Override[] {
  return Object.entries(flags).flatMap(([key, value]) =>
    value === undefined ? [] : [{ path: key.split('.'), value, where: `--set ${key}` }],
  );
}

/** Returns the override of `SPANSCORE_JUDGE=provider/model`, the default judge. */
export function judgeOverride(variables: Readonly<Record<string, string | undefined>>): Override[] {
  const judge = variables['SPANSCORE_JUDGE'];
  return judge === undefined || judge === ''
    ? []
    : [{ path: ['judges', 'default'], value: judge, where: 'SPANSCORE_JUDGE' }];
}

import type { KeyPath } from '../key-path.ts';

/**
 * Key or value that later versions have and this version does not. It is refused by its name, because ignoring it would
 * lose data.
 */
interface Unsupported {
  /** Steps of the path; `*` means any name or list position. */
  readonly path: readonly string[];
  /** Alternative in this version. */
  readonly instead: string;
}

/** Unsupported keys. A test checks that none of them is in the schema. */
export const UNSUPPORTED_KEYS: readonly Unsupported[] = [
  {
    path: ['store', 'cluster'],
    instead: 'its tables are created on the one server of store.url',
  },
  {
    path: ['rules', '*', 'sample', 'always', '*', 'newVersion'],
    instead: 'supported: error, tool-error, negative-feedback, slow, costly, tokens',
  },
  { path: ['judges', 'providers', '*', 'batch'], instead: 'each question to a judge is one call' },
  { path: ['api', 'hosts'], instead: 'put a proxy before the API that checks the Host header' },
  { path: ['api', 'requestsPerMinute'], instead: 'put a proxy before the API that limits requests' },
];

interface UnsupportedValue extends Unsupported {
  readonly names: readonly string[];
}

/** Unsupported values. */
export const UNSUPPORTED_VALUES: readonly UnsupportedValue[] = [
  {
    path: ['auth', 'tokens', '*', 'scopes', '*'],
    names: ['label'],
    instead: 'supported: ingest, read, admin',
  },
];

/** Returns the message for an unsupported key; undefined for a key that no version has. */
export function unsupportedKey(path: KeyPath): string | undefined {
  const entry = UNSUPPORTED_KEYS.find((one) => matches(one.path, path));
  return entry === undefined ? undefined : `is not supported by this version; ${entry.instead}`;
}

/** Returns the message for an unsupported value; undefined for a value that no version has. */
export function unsupportedValue(value: unknown, path: KeyPath): string | undefined {
  const given = value !== null && typeof value === 'object' ? Object.keys(value) : [value];
  for (const entry of UNSUPPORTED_VALUES.filter((one) => matches(one.path, path))) {
    const name = entry.names.find((one) => given.includes(one));
    if (name !== undefined) {
      return `${name} is not supported by this version; ${entry.instead}`;
    }
  }
  return undefined;
}

function matches(pattern: readonly string[], path: KeyPath): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((step, index) => step === '*' || step === String(path[index]))
  );
}

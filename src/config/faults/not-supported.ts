import type { KeyPath } from '../key-path.ts';

/**
 * Key that later versions have and this version does not. It is refused by its name, because ignoring it would
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
];

/** Returns the message for an unsupported key; undefined for a key that no version has. */
export function unsupportedKey(path: KeyPath): string | undefined {
  const entry = UNSUPPORTED_KEYS.find((one) => matches(one.path, path));
  return entry === undefined ? undefined : `is not supported by this version; ${entry.instead}`;
}

function matches(pattern: readonly string[], path: KeyPath): boolean {
  return (
    pattern.length === path.length &&
    pattern.every((step, index) => step === '*' || step === String(path[index]))
  );
}

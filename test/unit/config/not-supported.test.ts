import { describe, expect, it } from 'vitest';
import { unsupportedKey, UNSUPPORTED_KEYS } from '../../../src/config/faults/not-supported.ts';
import { configJsonSchema } from '../../../src/app/config/index.ts';
import { knownKeysAt, schemaNodesAt } from '../../../src/config/json-schema.ts';
import type { KeyPath } from '../../../src/config/key-path.ts';

/** A path through the schema: a list position or a name for each `*`. */
function concrete(path: readonly string[]): KeyPath {
  return path.map((step, index) =>
    step === '*'
      ? ['rules', 'tokens', 'always', 'scopes'].includes(path[index - 1] ?? '')
        ? 0
        : 'any'
      : step,
  );
}

describe('a key that is not supported yet', () => {
  it.each(UNSUPPORTED_KEYS)(
    '$path is not in the schema (once it is built: remove it from the list)',
    ({ path }) => {
      const key = path.at(-1) ?? '';
      const group = concrete(path).slice(0, -1);

      expect(schemaNodesAt(group, configJsonSchema())).not.toEqual([]);
      expect(knownKeysAt(group, configJsonSchema())).not.toContain(key);
      expect(unsupportedKey([...group, key])).toMatch(/^is not supported by this version; /);
    },
  );
});

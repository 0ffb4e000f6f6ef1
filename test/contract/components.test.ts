import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CHANNELS, EXPORTERS, PREBUILT_SCORERS, RECEIVERS } from '../../src/components.ts';

const root = new URL('../../', import.meta.url);

/** Everything that is loaded with a file: its imports that are neither types nor loaded later, and theirs. */
function listLoaded(path: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(path)) {
    return found;
  }
  found.add(path);
  if (!path.endsWith('.ts')) {
    return found;
  }
  const at = new URL(path, root);
  const text = readFileSync(at, 'utf8');
  for (const [, name = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gms)) {
    listLoaded(name.startsWith('.') ? new URL(name, at).href.slice(root.href.length) : name, found);
  }
  return found;
}

describe('src/components.ts', () => {
  it('loads definitions alone: no code of a scorer, an exporter, a channel or a receiver, and no library of one', () => {
    const loaded = [...listLoaded('src/components.ts')];
    expect(loaded).toContain('src/scorers/prebuilt/definitions.ts');
    const ofScorers = PREBUILT_SCORERS.map(({ name }) => `src/scorers/prebuilt/${name}.ts`);
    expect(loaded.filter((path) => ofScorers.includes(path))).toEqual([]);
    expect(
      loaded.filter((path) => /receivers\/(otlp-(http|grpc)|kafka\/kafka-receiver)\.ts$/.test(path)),
    ).toEqual([]);
    expect(loaded.filter((path) => /kafkajs|opentelemetry|^ai$|compromise/.test(path))).toEqual([]);
  });

  it('has each name of a kind once', () => {
    for (const kind of [PREBUILT_SCORERS, RECEIVERS, EXPORTERS, CHANNELS]) {
      const names = kind.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

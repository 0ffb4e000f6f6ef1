import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../domain/unknown-values.ts';
import { type KeyPath, listLeaves, valueAt } from './key-path.ts';
import type { Config } from './schema.ts';
import type { MonitorGroup } from './schema/monitors.ts';

/** Keys of the configuration, and whether a reload puts a change in force: `restart` refuses the whole file. */
export const RELOADED_KEYS = {
  store: 'restart',
  receivers: 'restart',
  ingest: 'restart',
  auth: 'applies',
  judges: 'applies',
  scorers: 'applies',
  rules: 'applies',
  conventions: 'applies',
  scoring: 'restart',
  budgets: 'applies',
  redaction: 'applies',
  readiness: 'restart',
  exporters: 'applies',
  sources: 'restart',
  labels: 'restart',
  api: 'restart',
  log: 'restart',
  monitors: 'applies',
  alerts: 'applies',
  issues: 'applies',
} as const satisfies Record<keyof Config, 'applies' | 'restart'>;

export type ReloadedKey = keyof typeof RELOADED_KEYS;

/** A configuration with the content of the files that it names. */
export interface LoadedParts {
  readonly config: Config;
  /** Groups of the monitors, of files too. */
  readonly groups: readonly MonitorGroup[];
  /** Hashes of the modules of scorers, by scorer. */
  readonly modules: Readonly<Record<string, string>>;
}

/** Paths that differ between two configurations, with the names of entries in lists. */
export interface ConfigChanges {
  /** Changes that a reload puts in force: `rules.production`, `judges.prices`. */
  readonly changed: readonly string[];
  /** Changes that need a restart: `receivers.otlp.http.endpoint`. */
  readonly needsRestart: readonly string[];
}

/** Compares two configurations and the content of the files that they name. */
export function compareConfigs(before: LoadedParts, after: LoadedParts): ConfigChanges {
  const keys = Object.keys(RELOADED_KEYS) as ReloadedKey[];
  const changed = keys.flatMap((key) =>
    RELOADED_KEYS[key] === 'applies' ? listMembers(key, before, after) : [],
  );
  const needsRestart = keys.flatMap((key) =>
    RELOADED_KEYS[key] === 'restart' ? listChangedLeaves(key, before.config[key], after.config[key]) : [],
  );
  return { changed, needsRestart };
}

/** Lists the changed members of a section; the section itself when only their order differs. */
function listMembers(key: ReloadedKey, before: LoadedParts, after: LoadedParts): string[] {
  const [old, young] = [before, after].map((parts) => readMembers(key, parts));
  const names = [...new Set([...(old?.keys() ?? []), ...(young?.keys() ?? [])])];
  const changed = names.filter((name) => !isDeepStrictEqual(old?.get(name), young?.get(name)));
  const isMoved = changed.length === 0 && !isDeepStrictEqual(before.config[key], after.config[key]);
  return isMoved && key !== 'monitors' ? [key] : changed.map((name) => `${key}.${name}`);
}

function readMembers(key: ReloadedKey, { config, groups, modules }: LoadedParts): Map<string, unknown> {
  if (key === 'scorers') {
    const entries = Object.entries(config.scorers);
    return new Map(entries.map(([name, entry]) => [name, { ...entry, text: modules[name] }]));
  }
  const section: unknown = key === 'monitors' ? groups : config[key];
  const members: [string, unknown][] = Array.isArray(section)
    ? section.map((entry: unknown, index) => [nameEntry(entry) ?? String(index), entry])
    : Object.entries(section ?? {});
  return new Map(members);
}

/** Lists the changed values of a section. A list is one value. */
function listChangedLeaves(key: string, before: unknown, after: unknown): string[] {
  const leaves = [...listLeaves(before), ...listLeaves(after)].filter(
    ({ path }) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)),
  );
  const paths = leaves.map(({ path }) => {
    const index = path.findIndex((step) => typeof step === 'number');
    return [key, ...(index === -1 ? path : path.slice(0, index))].join('.');
  });
  return [...new Set(paths)];
}

/** Returns the name of an entry in a list; undefined for one without a name. */
export function nameEntry(entry: unknown): string | undefined {
  const name = isRecord(entry) ? (entry['name'] ?? entry['alert']) : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** Formats a path with the names of entries in lists: `rules.production.sample.rate`. */
export function namePath(path: KeyPath, root: unknown): string {
  return path
    .map((step, index) =>
      typeof step === 'number' ? (nameEntry(valueAt(root, path.slice(0, index + 1))) ?? step) : step,
    )
    .join('.');
}

import { listOwnTables } from '../schema/own-tables.ts';

/** Tables of processes that run. They mean nothing in another store. */
const OF_PROCESSES: ReadonlySet<string> = new Set([
  'scorer_members',
  'duty_members',
  'alert_members',
  'write_probe',
]);

/**
 * Tables that say that work was done, before the tables of that work: a decision before its score, progress before its results. What
 * they say is then true of the later copies.
 */
const FIRST = [
  'jobs',
  'aggregate_progress',
  'monitor_progress',
  'export_progress',
  'decisions',
  'scores',
  'runs',
];

/** The index of spans before the spans: what it lacks is computed from them. Tombstones last: they count for all other copies. */
const LAST = ['trace_starts', 'trace_activity', 'trace_arrivals', 'otel_logs', 'otel_traces', 'tombstones'];

/** Tables of a backup in their order. Between the two lists, all inserts of before have to end. */
export interface BackupOrder {
  readonly first: readonly string[];
  /** Among them the tables that views fill from the first ones. */
  readonly rest: readonly string[];
}

/** Lists the tables that hold data of the installation, in no order. */
export function listDataTables(): string[] {
  return listOwnTables()
    .map(({ name }) => name)
    .filter((name) => !OF_PROCESSES.has(name));
}

/** Orders the tables of a backup. */
export function orderTables(tables: readonly string[] = listDataTables()): BackupOrder {
  const placed = new Set([...FIRST, ...LAST]);
  const among = (names: readonly string[]) => names.filter((name) => tables.includes(name));
  return {
    first: among(FIRST),
    rest: [...tables.filter((name) => !placed.has(name)), ...among(LAST)],
  };
}

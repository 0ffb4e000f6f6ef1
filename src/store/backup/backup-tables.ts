import { listOwnTables } from '../schema/schema-file.ts';

/** Tables of processes that run. They mean nothing in another store. */
const OF_PROCESSES: ReadonlySet<string> = new Set(['scorer_members', 'duty_members', 'write_probe']);

/**
 * Tables that say that work was done, before the tables of that work: a decision before its score, progress before its results. What
 * they say is then true of the later copies.
 */
const FIRST = [
  'jobs',
  'aggregate_progress',
  'monitor_progress',
  'export_progress',
  // Sums are of no more rows than are copied after them.
  'score_hours',
  'score_days',
  'decision_hours',
  'decisions',
  'scores',
  'runs',
];

/** Spans before their arrivals: no copied span is without its arrival. Tombstones last: they count for all other copies. */
const LAST = [
  ['otel_traces', 'otel_logs'],
  ['trace_arrivals'],
  ['trace_activity', 'trace_starts'],
  ['tombstones'],
];

/** Lists the tables that hold data of the installation, in no order. */
export function listDataTables(): string[] {
  return listOwnTables()
    .map(({ name }) => name)
    .filter((name) => !OF_PROCESSES.has(name));
}

/** Orders the tables of a backup. Before each group, inserts into the one before have to end: views fill its tables from those. */
export function orderTables(tables: readonly string[] = listDataTables()): string[][] {
  const placed = new Set([...FIRST, ...LAST.flat()]);
  const groups = [FIRST, tables.filter((name) => !placed.has(name)), ...LAST];
  return groups.map((group) => group.filter((name) => tables.includes(name)));
}

import { AppError } from '../../domain/errors.ts';
import { MINUTE_MS } from '../../domain/durations.ts';
import type { Database } from '../database.ts';

/** Time before a copy began from which on inserts may have been visible in one table and not yet in another, milliseconds. */
const OVERLAP_MS = MINUTE_MS;

/**
 * Adds what the copies of tables that are computed from others lack: arrivals, activity and starts of spans that were inserted
 * during the copy. The copies of the index are older than those of the spans. Hours of scores that may be summed from scores which
 * were not copied are computed again.
 * @param startedAtMs beginning of the copy, Unix milliseconds by the store's clock
 */
export async function addMissingIndex(database: Database, startedAtMs: number): Promise<void> {
  const since = `fromUnixTimestamp64Milli(${Math.max(0, Math.trunc(startedAtMs - OVERLAP_MS))})`;
  const selections = await readSelections(database);
  const isLate = `ArrivedAt >= ${since}`;
  // First for arrivals that were copied. Those that are added next bring their activity and starts along.
  await insert(
    database,
    'trace_activity',
    narrow(selections, 'trace_activity_of_arrivals', 'trace_arrivals', isLate),
  );
  await insert(
    database,
    'trace_starts',
    `${narrow(selections, 'trace_starts_of_arrivals', 'trace_arrivals', isLate)}
     WHERE (FirstStart, TraceId, Tenant) NOT IN (SELECT FirstStart, TraceId, Tenant FROM trace_starts)`,
  );
  const isMissing = `${isLate} AND (Tenant, TraceId, ArrivedAt) NOT IN (
    SELECT Tenant, TraceId, ArrivedAt FROM trace_arrivals WHERE ${isLate})`;
  for (const [view, source] of [
    ['trace_arrivals_of_spans', 'otel_traces'],
    ['trace_arrivals_of_logs', 'otel_logs'],
  ] as const) {
    // One row for each inserted block, as at the insert: the rows of a block have one time of arrival.
    await insert(
      database,
      'trace_arrivals',
      `${narrow(selections, view, source, isMissing)}, ${source}.ArrivedAt`,
    );
  }
  await insert(
    database,
    'aggregate_touches',
    `SELECT DISTINCT Tenant, Bucket FROM score_hours WHERE WrittenAt >= ${since}`,
  );
}

/** Inserts the result of a SELECT, column by name. */
async function insert(database: Database, table: string, selection: string): Promise<void> {
  const columns = await database.rows<{ name: string }>(
    `SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {table:String}
       AND default_kind = ''`,
    { table },
  );
  const names = columns.map(({ name }) => `\`${name}\``).join(', ');
  await database.insertSelected(`INSERT INTO ${table} (${names}) SELECT ${names} FROM (${selection})`, {});
}

/** Reads the SELECT of each view. */
async function readSelections(database: Database): Promise<ReadonlyMap<string, string>> {
  const views = await database.rows<{ name: string; selection: string }>(
    `SELECT name, as_select AS selection FROM system.tables
     WHERE database = currentDatabase() AND engine = 'MaterializedView'`,
  );
  return new Map(views.map(({ name, selection }) => [name, selection]));
}

/** Returns the SELECT of a view over some rows of its source. */
function narrow(
  selections: ReadonlyMap<string, string>,
  view: string,
  source: string,
  condition: string,
): string {
  const selection = selections.get(view) ?? '';
  const from = new RegExp(`FROM \\w+\\.${source}\\b`, 'u');
  if (!from.test(selection)) {
    throw new AppError(`the view ${view} does not read ${source}`, {
      code: 'bug',
      stage: 'store',
      retryable: false,
    });
  }
  return selection.replace(from, `FROM (SELECT * FROM ${source} WHERE ${condition}) AS ${source}`);
}

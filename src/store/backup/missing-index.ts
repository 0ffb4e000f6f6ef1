import { AppError } from '../../domain/errors.ts';
import { MINUTE_MS } from '../../domain/durations.ts';
import { rowsTable } from '../cluster/cluster.ts';
import type { Database } from '../database.ts';

/** Time before a copy began from which on inserts may have been visible in one table and not yet in another, milliseconds. */
const OVERLAP_MS = MINUTE_MS;

/**
 * Adds what the copies of tables that are computed from others lack: arrivals, activity and starts of spans that were inserted
 * during the copy. The copies of the index are older than those of the spans. Hours of scores that may be summed from scores which
 * were not copied are computed again.
 * @param startedAtMs beginning of the copy, Unix milliseconds by the store's clock
 * @param arrivalDays days that arrivals are kept; older spans have none
 */
export async function addMissingIndex(
  database: Database,
  startedAtMs: number,
  arrivalDays: number,
): Promise<void> {
  const since = `fromUnixTimestamp64Milli(${Math.max(0, Math.trunc(startedAtMs - OVERLAP_MS))})`;
  const narrow = await readViews(database);
  const isLate = `ArrivedAt >= greatest(${since}, now64(3) - toIntervalDay(${arrivalDays}))`;
  // First for arrivals that were copied. Those that are added next bring their activity and starts along.
  await insert(database, 'trace_activity', narrow('trace_activity_of_arrivals', 'trace_arrivals', isLate));
  await insert(
    database,
    'trace_starts',
    `${narrow('trace_starts_of_arrivals', 'trace_arrivals', isLate)}
     WHERE (FirstStart, TraceId, Tenant) NOT IN (
       SELECT FirstStart, TraceId, Tenant FROM trace_starts WHERE ArrivedWeek >= toMonday(${since}))`,
  );
  const isMissing = `${isLate} AND (Tenant, TraceId, ArrivedAt) NOT IN (
    SELECT Tenant, TraceId, ArrivedAt FROM trace_arrivals WHERE ${isLate})`;
  for (const [view, source] of [
    ['trace_arrivals_of_spans', 'otel_traces'],
    ['trace_arrivals_of_logs', 'otel_logs'],
  ] as const) {
    // One row for each inserted block, as at the insert: the rows of a block have one time of arrival.
    await insert(database, 'trace_arrivals', `${narrow(view, source, isMissing)}, ${source}.ArrivedAt`);
  }
  await insert(
    database,
    'aggregate_touches',
    // Not those that will be computed again in any case.
    `SELECT Tenant, Bucket FROM (
       SELECT Tenant, Bucket, max(WrittenAt) AS SummedAt FROM score_hours WHERE WrittenAt >= ${since} GROUP BY Tenant, Bucket) AS summed
     LEFT JOIN (SELECT Tenant, Bucket, max(WrittenAt) AS TouchedAt FROM aggregate_touches GROUP BY Tenant, Bucket) AS touched
     USING (Tenant, Bucket) WHERE TouchedAt <= SummedAt`,
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

/** Reads the views. Returns a function that builds the SELECT of one of them over some rows of its source. */
async function readViews(
  database: Database,
): Promise<(view: string, source: string, condition: string) => string> {
  const views = await database.rows<{ name: string; selection: string }>(
    `SELECT name, as_select AS selection FROM system.tables
     WHERE database = currentDatabase() AND engine = 'MaterializedView'`,
  );
  const selections = new Map(views.map(({ name, selection }) => [name, selection]));
  return (view, source, condition) => {
    const selection = selections.get(view) ?? '';
    // The view of a server of a cluster reads the rows of this server alone.
    const from = new RegExp(
      `FROM \\w+\\.${rowsTable(database.cluster, source)}\\b(?: AS ${source}\\b)?`,
      'u',
    );
    if (!from.test(selection)) {
      throw new AppError(`the view ${view} does not read ${source}`, {
        code: 'bug',
        stage: 'store',
        retryable: false,
      });
    }
    return selection.replace(from, `FROM (SELECT * FROM ${source} WHERE ${condition}) AS ${source}`);
  };
}

import { HASHED_SESSION, MAX_SESSION_ID_BYTES } from '../../domain/session-target.ts';
import type { Database } from '../database.ts';

/** Tables that the conditions below never apply to: sums of money, records that hold hashes alone, and jobs, which have a part of their own. */
const KEPT: ReadonlySet<string> = new Set(['spend', 'tombstones', 'purge_items', 'jobs', 'audit']);

/** Returns true for a table that a purge never deletes from. */
export function isKept(table: string): boolean {
  return KEPT.has(table);
}

/** Table with the condition of its rows that a purge deletes or empties. */
export interface PurgeTable {
  readonly name: string;
  /** True for a table with trace ids. */
  readonly namesTrace: boolean;
  /** SQL condition. */
  readonly condition: string;
  /** Assignments of an update that empties the rows; undefined: they are deleted. */
  readonly update?: string;
}

/** Condition on the items of a job. Job ids are UUIDs, so they need no escape. */
export function itemsOf(jobId: string, kind: string): string {
  return `FROM purge_items WHERE JobId = '${jobId}' AND Kind = '${kind}'`;
}

/** SQL for the target id of the session `Id` (`buildSessionTargetId`). */
const TARGET_ID = `if(length(Id) > ${MAX_SESSION_ID_BYTES}, concat('${HASHED_SESSION}', lower(hex(SHA256(Id)))), Id)`;

/**
 * Reads the tables of the database that have rows, and derives from their columns what a purge deletes. So a new table that names a trace,
 * a score, a session or a tenant is purged, too.
 */
export async function readPurgeTables(database: Database, jobId: string): Promise<PurgeTable[]> {
  const tables = await database.rows<{ owner: string; columns: string[] }>(
    `SELECT table AS owner, groupArray(name) AS columns FROM system.columns
     WHERE database = currentDatabase() AND table IN (
       SELECT name FROM system.tables
       WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND total_rows > 0)
     GROUP BY table ORDER BY table`,
  );
  return tables
    .filter(({ owner }) => !isKept(owner))
    .flatMap(({ owner, columns }) => buildPurgeTables(jobId, owner, new Set(columns)));
}

/** Returns the changes of a table; none for a table that names nothing that can be purged. */
export function buildPurgeTables(jobId: string, name: string, columns: ReadonlySet<string>): PurgeTable[] {
  const conditions = listConditions(jobId, name, columns);
  const deletion = {
    name,
    namesTrace: columns.has('TraceId'),
    condition: conditions.map((each) => `(${each})`).join(' OR '),
  };
  return [
    ...(name === 'alert_events' ? [clearAlerts(jobId)] : []),
    ...(name === 'issues' ? [clearIssues(jobId)] : []),
    ...(conditions.length > 0 ? [deletion] : []),
  ];
}

function listConditions(jobId: string, name: string, columns: ReadonlySet<string>): string[] {
  const isIn = (kind: string, selected: string) => `IN (SELECT ${selected} ${itemsOf(jobId, kind)})`;
  const hasTrace = columns.has('TraceId');
  // Rows of sessions have no trace id.
  const ofSession = hasTrace ? "TraceId = '' AND " : '';
  return [
    ...(hasTrace ? [`(Tenant, TraceId) ${isIn('trace', 'Tenant, Id')}`] : []),
    ...(columns.has('ScoreId') ? [`${ofSession}toString(ScoreId) ${isIn('score', 'Id')}`] : []),
    ...(hasTrace && columns.has('SessionId')
      ? [`${ofSession}(Tenant, SessionId) ${isIn('session', 'Tenant, Id')}`]
      : []),
    ...(hasTrace && columns.has('TargetId')
      ? [`${ofSession}(Tenant, TargetId) ${isIn('session', `Tenant, ${TARGET_ID}`)}`]
      : []),
    ...(name === 'dead_letters' ? [`toString(Id) ${isIn('letter', 'Id')}`] : []),
    ...(columns.has('Tenant') ? [`Tenant ${isIn('tenant', 'Tenant')}`] : []),
  ];
}

/** Alerts stay, but no longer name the traces. */
function clearAlerts(jobId: string): PurgeTable {
  const named = `arrayFilter(id -> (Tenant, id) IN (SELECT Tenant, Id ${itemsOf(jobId, 'trace')}), extractAll(Event, '[0-9a-f]{32}'))`;
  return {
    name: 'alert_events',
    namesTrace: false,
    condition: `notEmpty(${named})`,
    update: `Event = arrayFold((text, id) -> replaceAll(text, id, repeat('0', 32)), ${named}, Event)`,
  };
}

/**
 * Issues of the tenants of purged traces lose their words, which are made again from the failures that stay. A title that a judge wrote
 * from other traces stays.
 */
function clearIssues(jobId: string): PurgeTable {
  const items = itemsOf(jobId, 'trace');
  const isTouched = `arrayExists(id -> (Tenant, id) IN (SELECT Tenant, Id ${items}), Named)`;
  const staysNamed = `(Named[1] != '' AND NOT ${isTouched})`;
  return {
    name: 'issues',
    namesTrace: false,
    condition: `Tenant IN (SELECT Tenant ${items}) AND (Subject != '' OR (Title != '' AND NOT ${staysNamed}))`,
    update: `Title = if(${staysNamed}, Title, ''), Named = if(${isTouched}, [], Named), Subject = '',
      Split = arrayFilter(entry -> (Tenant, substring(entry, 1, 32)) NOT IN (SELECT Tenant, Id ${items}), Split)`,
  };
}

import type { PurgeHashKey } from '../contracts/purge.ts';
import type { Database } from '../database.ts';
import { toDateTime } from '../values.ts';
import { addItems, listTraceTables } from './collect-items.ts';
import { composedSql, hashParams, hashSql } from './hash-sql.ts';

/** Collects what has a tombstone and rows nevertheless (`PurgeStore.collectBuried`). */
export async function collectBuried(
  database: Database,
  { jobId, key, sinceMs }: { readonly jobId: string; readonly key: PurgeHashKey; readonly sinceMs: number },
): Promise<void> {
  const params = { jobId, since: toDateTime(sinceMs), ...hashParams(key) };
  const buried = (kind: string) => `SELECT Hash FROM tombstones WHERE Kind = '${kind}'`;
  const [count] = await database.rows<{ tombstones: string }>('SELECT count() AS tombstones FROM tombstones');
  if (count === undefined || Number(count.tombstones) === 0) {
    return;
  }
  for (const table of await listTraceTables(database)) {
    await addItems(
      database,
      'trace',
      `SELECT Tenant, TraceId AS Id FROM (SELECT DISTINCT Tenant, TraceId FROM ${table} WHERE TraceId != '')
       WHERE ${hashSql("'trace'", 'Tenant', 'TraceId')} IN (${buried('trace')})`,
      params,
    );
  }
  for (const table of ['runs', 'scores']) {
    // A session that was scored again after its tombstone has younger rows only.
    await addItems(
      database,
      'session',
      `SELECT found.Tenant AS Tenant, SessionId AS Id FROM (
         SELECT Tenant, SessionId, min(WrittenAt) AS FirstWritten FROM ${table}
         WHERE TraceId = '' AND SessionId != '' GROUP BY Tenant, SessionId) AS found
       INNER JOIN (SELECT Hash, max(WrittenAt) AS BuriedAt FROM tombstones WHERE Kind = 'session' GROUP BY Hash) AS buried
         ON ${hashSql("'session'", 'found.Tenant', composedSql('SessionId'))} = buried.Hash
       WHERE FirstWritten <= BuriedAt`,
      params,
    );
  }
  const inTime = "WrittenAt >= {since:DateTime64(3, 'UTC')}";
  for (const table of ['runs', 'decisions']) {
    await addItems(
      database,
      'tenant',
      `SELECT Tenant, '' AS Id FROM (SELECT DISTINCT Tenant FROM ${table})
       WHERE ${hashSql("'tenant'", "''", 'Tenant')} IN (${buried('tenant')} AND ${inTime})`,
      params,
    );
  }
}

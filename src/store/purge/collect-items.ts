import type { Database } from '../database.ts';
import type { QueryParams } from '../values.ts';
import { readPurgeTables } from './purge-tables.ts';

/** Adds items to a job. The statement selects Tenant and Id, and has the parameter `jobId`. */
export async function addItems(
  database: Pick<Database, 'isReplicated' | 'rows' | 'insertSelected'>,
  kind: string,
  selection: string,
  params: QueryParams & { readonly jobId: string },
): Promise<void> {
  await database.insertSelected(
    `INSERT INTO purge_items (JobId, Kind, Tenant, Id) ${database.isReplicated ? await onEveryReplica(database) : ''}
     SELECT DISTINCT {jobId:String}, '${kind}', toString(Tenant), toString(Id) FROM (${selection}) AS found`,
    params,
  );
}

/** Returns settings of an insert that waits for every replica: each deletes what its own copy of the items names. */
async function onEveryReplica(database: Pick<Database, 'rows'>): Promise<string> {
  const [row] = await database.rows<{ replicas: number }>(
    `SELECT max(total_replicas) AS replicas FROM system.replicas
     WHERE database = currentDatabase() AND table = 'purge_items'`,
  );
  return `SETTINGS insert_quorum = ${row?.replicas ?? 1}`;
}

/** Lists the tables that name traces. */
export async function listTraceTables(database: Database): Promise<string[]> {
  const tables = await readPurgeTables(database, '');
  return tables.filter(({ namesTrace }) => namesTrace).map(({ name }) => name);
}

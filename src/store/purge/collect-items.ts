import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';
import { readPurgeTables } from './purge-tables.ts';

/** Adds items to a job. The statement selects Tenant and Id, and has the parameter `jobId`. */
export async function addItems(
  database: Database,
  kind: string,
  selection: string,
  params: QueryParams & { readonly jobId: string },
): Promise<void> {
  await database.insertSelected(
    `INSERT INTO purge_items (JobId, Kind, Tenant, Id)
     SELECT DISTINCT {jobId:String}, '${kind}', toString(Tenant), toString(Id) FROM (${selection}) AS found`,
    params,
  );
}

/** Lists the tables that name traces. */
export async function listTraceTables(database: Database): Promise<string[]> {
  const tables = await readPurgeTables(database, '');
  return tables.filter(({ namesTrace }) => namesTrace).map(({ name }) => name);
}

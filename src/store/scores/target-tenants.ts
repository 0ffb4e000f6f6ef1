import type { Database } from '../database.ts';
import { splitIntoSlices, WITHOUT_TRACE } from '../spans/trace-keys.ts';

/** Queries for the tenants of things: with spans, runs, or scores of a scorer. */
const QUERIES = {
  trace: [
    'SELECT DISTINCT Tenant AS tenant, TraceId AS id FROM trace_activity WHERE TraceId IN {ids:Array(String)}',
    'SELECT DISTINCT Tenant AS tenant, TraceId AS id FROM runs WHERE TraceId IN {ids:Array(String)}',
    `SELECT DISTINCT Tenant AS tenant, TraceId AS id FROM scores
     PREWHERE TraceId IN {ids:Array(String)} WHERE ScoredBy = ''`,
  ],
  session: [
    'SELECT DISTINCT Tenant AS tenant, SessionId AS id FROM runs WHERE SessionId IN {ids:Array(String)}',
    `SELECT DISTINCT Tenant AS tenant, SessionId AS id FROM scores
     PREWHERE ${WITHOUT_TRACE} AND SessionId IN {ids:Array(String)} WHERE ScoredBy = ''`,
  ],
} as const;

/** Reads the tenants that have these traces or sessions, in order, by id. */
export async function readTenants(
  database: Database,
  kind: keyof typeof QUERIES,
  ids: readonly string[],
): Promise<Map<string, string[]>> {
  const found = new Map<string, Set<string>>();
  for (const slice of splitIntoSlices([...new Set(ids)])) {
    const rows = await Promise.all(
      QUERIES[kind].map((sql) => database.rows<{ tenant: string; id: string }>(sql, { ids: slice })),
    );
    for (const { tenant, id } of rows.flat()) {
      found.set(id, (found.get(id) ?? new Set()).add(tenant));
    }
  }
  return new Map([...found].map(([id, tenants]) => [id, [...tenants].toSorted()]));
}

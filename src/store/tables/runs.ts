import type { RunRecord } from '../../domain/run-record.ts';
import { joinTraceKey, type TraceKey } from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { IN_KEYS, keyParams, readSlices } from '../spans/trace-keys.ts';
import { runRows } from '../table-rows.ts';
import type { QueryParams } from '../values.ts';

/** Creates the store of runs: one row for each (tenant, trace, target), the one with the newest evidence. */
export function createRunStore(database: Database) {
  return bind(database, { ofTraces, readUntil, write: runRows.write });
}

export type RunStore = ReturnType<typeof createRunStore>;

/** Reads the current rows of these traces, keyed by `joinTraceKey`. */
function ofTraces(database: Database, keys: readonly TraceKey[]): Promise<Map<string, RunRecord[]>> {
  const from = `FROM runs FINAL PREWHERE ${IN_KEYS} ORDER BY Tenant, TraceId, Target, TargetId`;
  return runRows.readByTrace(database, from, keys);
}

/**
 * Reads the first run of each trace; at most `MAX_KEYS` traces. Keyed by `joinTraceKey`.
 * @param asked condition on the runs, with the parameters of `IN_KEYS`
 */
export async function readMainRuns(
  database: Database,
  keys: readonly TraceKey[],
  asked: { readonly sql: string; readonly params: QueryParams } = { sql: '1', params: keyParams(keys) },
): Promise<Map<string, RunRecord>> {
  const records = await runRows.read(
    database,
    `FROM (
       SELECT * FROM runs FINAL PREWHERE ${IN_KEYS} AND Target = 'trace'
       ORDER BY Tenant, TraceId, TargetId LIMIT 1 BY Tenant, TraceId)
     WHERE ${asked.sql}`,
    asked.params,
  );
  return new Map(records.map((record) => [joinTraceKey(record), record]));
}

/** Reads the last arrival up to which each trace was read from its content, Unix milliseconds, also without a run; keyed by `joinTraceKey`. */
async function readUntil(database: Database, keys: readonly TraceKey[]): Promise<Map<string, number>> {
  const rows = await readSlices(keys, (slice) =>
    database.rows<TraceKey & { until: number }>(
      `SELECT Tenant AS tenant, TraceId AS traceId, toUnixTimestamp64Milli(max(EvidenceUntil)) AS until
       FROM runs WHERE ${IN_KEYS} AND Target = 'trace' AND ReadFrom = 'content' GROUP BY Tenant, TraceId`,
      keyParams(slice),
    ),
  );
  return new Map(rows.map((row) => [joinTraceKey(row), row.until]));
}

import { TupleParam } from '@clickhouse/client';
import type { RunRecord } from '../../domain/run-record.ts';
import { joinTraceKey, type TraceKey } from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { IN_KEYS, keyParams, readSlices } from '../spans/trace-keys.ts';
import { runRows } from '../table-rows.ts';
import { type QueryParams, toDateTime } from '../values.ts';

/** Creates the store of runs: one row for each (tenant, trace, target), the one with the newest evidence. */
export function createRunStore(database: Database) {
  return bind(database, { ofTraces, readUntil, write: runRows.write });
}

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

/** Columns of `run_starts` beside its key, which runs that began together have in one place. */
const OF_STARTS = `SessionId, UserId, ServiceName, ServiceVersion, Agent, AgentVersion, Environment, Models, TotalTokens, CostUsd, DurationMs,
  ToolCalls, ToolErrors, Tools, NotScorable, EvidenceUntil, Question, Answer`;

/**
 * Reads the first run of each trace that began at a time, like `readMainRuns`, but most columns by the start: at the ids of the traces, each
 * column of each run stands in a place of its own.
 */
export async function readStartedRuns(
  database: Database,
  keys: readonly (TraceKey & { readonly atMs: number })[],
  asked: { readonly sql: string; readonly params: QueryParams },
): Promise<Map<string, RunRecord>> {
  const records = await runRows.read(
    database,
    `FROM (
       SELECT * EXCEPT (${OF_STARTS}) FROM runs FINAL PREWHERE ${IN_KEYS} AND Target = 'trace'
       ORDER BY Tenant, TraceId, TargetId LIMIT 1 BY Tenant, TraceId) AS run
     INNER JOIN (
       SELECT StartedAt, TraceId, Tenant, Version, ${OF_STARTS} FROM run_starts
       WHERE (StartedAt, TraceId, Tenant) IN {starts:Array(Tuple(DateTime64(3, 'UTC'), String, String))}
       ORDER BY WrittenAt DESC LIMIT 1 BY StartedAt, TraceId, Tenant, Version) AS start
       USING (StartedAt, TraceId, Tenant, Version)
     WHERE ${asked.sql}`,
    {
      ...asked.params,
      starts: keys.map(({ atMs, traceId, tenant }) => new TupleParam([toDateTime(atMs), traceId, tenant])),
    },
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

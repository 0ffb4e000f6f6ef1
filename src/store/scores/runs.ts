import type { TargetKind } from '../../domain/trace/agent-run.ts';
import { runVersion, type RunRecord } from '../../domain/run-record.ts';
import type { RunStore } from '../contracts/runs.ts';
import { joinTraceKey, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from '../spans/trace-keys.ts';
import { fromInteger, toDateTime } from '../values.ts';

/** Creates the store of runs: one row for each (tenant, trace, target), the one with the newest evidence. */
export function createRunStore(database: Database): RunStore {
  return {
    ofTraces: (keys) => readRuns(database, keys),
    readUntil: (keys) => readUntil(database, keys),
    write: (records) => database.insertRows('runs', records.map(toRow)),
  };
}

/** Columns for `fromRow`. Times are Unix milliseconds, with names of their own. */
const SELECTION = `
  * EXCEPT (StartedAt, EvidenceUntil, WrittenAt, Version, IsDeleted),
  toUnixTimestamp64Milli(StartedAt) AS StartedAtMs,
  toUnixTimestamp64Milli(EvidenceUntil) AS EvidenceUntilMs`;

interface RunRow {
  Tenant: string;
  TraceId: string;
  SpanId: string;
  Target: string;
  TargetId: string;
  SessionId: string;
  UserId: string;
  ServiceName: string;
  ServiceVersion: string;
  Agent: string;
  AgentVersion: string;
  Environment: string;
  Models: string[];
  InputTokens: string | null;
  OutputTokens: string | null;
  TotalTokens: string | null;
  ReasoningTokens: string | null;
  CachedInputTokens: string | null;
  CostUsd: number | null;
  StartedAtMs: string;
  DurationMs: number;
  Status: string;
  ErrorType: string;
  ToolCalls: number | null;
  ToolErrors: number | null;
  Turns: number | null;
  NotScorable: string;
  ReadFrom: string;
  Completeness: string;
  EvidenceUntilMs: string;
}

async function readRuns(database: Database, keys: readonly TraceKey[]): Promise<Map<string, RunRecord[]>> {
  const found = new Map<string, RunRecord[]>();
  for (const slice of splitIntoSlices(keys)) {
    const rows = await database.rows<RunRow>(
      `SELECT ${SELECTION} FROM runs FINAL WHERE ${IN_KEYS} ORDER BY Tenant, TraceId, Target, TargetId`,
      keyParams(slice),
    );
    for (const row of rows) {
      const record = fromRow(row);
      const key = joinTraceKey(record);
      found.set(key, [...(found.get(key) ?? []), record]);
    }
  }
  return found;
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
  const rows = await database.rows<RunRow>(
    `SELECT * FROM (
       SELECT ${SELECTION} FROM runs FINAL WHERE ${IN_KEYS} AND Target = 'trace'
       ORDER BY Tenant, TraceId, TargetId LIMIT 1 BY Tenant, TraceId)
     WHERE ${asked.sql}`,
    asked.params,
  );
  return new Map(rows.map(fromRow).map((record) => [joinTraceKey(record), record]));
}

async function readUntil(database: Database, keys: readonly TraceKey[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const slice of splitIntoSlices(keys)) {
    const rows = await database.rows<TraceKey & { until: string }>(
      `SELECT Tenant AS tenant, TraceId AS traceId, toUnixTimestamp64Milli(max(EvidenceUntil)) AS until
       FROM runs WHERE ${IN_KEYS} AND Target = 'trace' AND ReadFrom = 'content' GROUP BY Tenant, TraceId`,
      keyParams(slice),
    );
    rows.forEach((row) => found.set(joinTraceKey(row), Number(row.until)));
  }
  return found;
}

function fromRow(row: RunRow): RunRecord {
  return {
    tenant: row.Tenant,
    traceId: row.TraceId,
    spanId: row.SpanId,
    target: row.Target as TargetKind,
    targetId: row.TargetId,
    sessionId: row.SessionId,
    userId: row.UserId,
    serviceName: row.ServiceName,
    serviceVersion: row.ServiceVersion,
    agent: row.Agent,
    agentVersion: row.AgentVersion,
    environment: row.Environment,
    models: row.Models,
    inputTokens: fromInteger(row.InputTokens),
    outputTokens: fromInteger(row.OutputTokens),
    totalTokens: fromInteger(row.TotalTokens),
    reasoningTokens: fromInteger(row.ReasoningTokens),
    cachedInputTokens: fromInteger(row.CachedInputTokens),
    costUsd: row.CostUsd,
    startedAt: Number(row.StartedAtMs),
    durationMs: row.DurationMs,
    status: row.Status as RunRecord['status'],
    errorType: row.ErrorType,
    toolCalls: row.ToolCalls,
    toolErrors: row.ToolErrors,
    turns: row.Turns,
    notScorable: row.NotScorable,
    readFrom: row.ReadFrom === 'content' ? 'content' : 'facts',
    completeness: row.Completeness === 'partial' ? 'partial' : 'complete',
    evidenceUntil: Number(row.EvidenceUntilMs),
    isDeleted: false,
  };
}

/** Converts a record to the row for an insert. The columns are the record's property names in PascalCase. */
function toRow(record: RunRecord): Record<string, unknown> {
  const row = Object.fromEntries(
    Object.entries(record).map(([name, value]) => [`${name.charAt(0).toUpperCase()}${name.slice(1)}`, value]),
  );
  return {
    ...row,
    StartedAt: toDateTime(record.startedAt),
    EvidenceUntil: toDateTime(record.evidenceUntil),
    Version: String(runVersion(record)),
    IsDeleted: record.isDeleted ? 1 : 0,
  };
}

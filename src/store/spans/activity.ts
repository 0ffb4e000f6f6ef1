import { joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { agentSeenSql, knownLateSql } from './agent-signal-sql.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from './trace-keys.ts';

export interface ActivityRow {
  tenant: string;
  traceId: string;
  firstArrival: string;
  lastArrival: string;
  firstStart: string;
  lastEnd: string;
  rootSeen: number;
  agentSeen: number;
  knownLate?: number;
  errorSeen: number;
}

/** Columns of an `ActivityRow`, for `FROM trace_activity … GROUP BY Tenant, TraceId`. Its end is never before its start. */
export function activityColumns({ agentSignals }: Pick<Database, 'agentSignals'>): string {
  const names = 'groupUniqArrayArray(Signals)';
  return `
  Tenant AS tenant,
  TraceId AS traceId,
  toUnixTimestamp64Milli(min(FirstArrival)) AS firstArrival,
  toUnixTimestamp64Milli(max(LastArrival)) AS lastArrival,
  min(FirstStart) AS firstStart,
  greatest(max(LastEnd), firstStart) AS lastEnd,
  max(RootSeen) AS rootSeen,
  ${agentSeenSql(names, agentSignals)} AS agentSeen,
  ${knownLateSql(names, 'firstArrival', agentSignals)} AS knownLate,
  max(ErrorSeen) AS errorSeen`;
}

export function toActivity(row: ActivityRow): TraceActivity {
  return {
    tenant: row.tenant,
    traceId: row.traceId,
    firstArrivalMs: Number(row.firstArrival),
    lastArrivalMs: Number(row.lastArrival),
    firstStartUnixNano: BigInt(row.firstStart),
    lastEndUnixNano: BigInt(row.lastEnd),
    rootSeen: row.rootSeen === 1,
    agentSeen: row.agentSeen === 1,
    ...(row.knownLate === 1 ? { knownLate: true } : {}),
    errorSeen: row.errorSeen === 1,
  };
}

/** Keyed by `joinTraceKey`; traces without activity are absent. */
export async function readActivity(
  database: Database,
  keys: readonly TraceKey[],
): Promise<Map<string, TraceActivity>> {
  const found = new Map<string, TraceActivity>();
  for (const slice of splitIntoSlices(keys)) {
    const rows = await database.rows<ActivityRow>(
      `SELECT ${activityColumns(database)} FROM trace_activity WHERE ${IN_KEYS} GROUP BY Tenant, TraceId`,
      keyParams(slice),
    );
    for (const row of rows) {
      const activity = toActivity(row);
      found.set(joinTraceKey(activity), activity);
    }
  }
  return found;
}

/** Activity of the traces of this id, of any tenant. */
export async function findTrace(database: Database, traceId: string): Promise<TraceActivity[]> {
  const rows = await database.rows<ActivityRow>(
    `SELECT ${activityColumns(database)} FROM trace_activity WHERE TraceId = {traceId:String}
     GROUP BY Tenant, TraceId ORDER BY Tenant`,
    { traceId },
  );
  return rows.map(toActivity);
}

import { type Arrival, joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import { type Database, readValue } from '../database.ts';
import { agentSeenSql, knownLateSql } from './agent-signal-sql.ts';
import { IN_KEYS, keyParams, readSlices, splitIntoSlices } from './trace-keys.ts';

/** The store's clock, Unix milliseconds. */
export async function readClock(database: Pick<Database, 'rows'>): Promise<number> {
  return (await readValue(database, 'SELECT toUnixTimestamp64Milli(now64(3))')) ?? Number.NaN;
}

/**
 * Reads the arrivals in [fromMs, toMs), grouped by trace. An insert may become visible after one with a later stamp: read
 * ranges that overlap by more than the longest insert.
 */
export function readArrivals(database: Database, fromMs: number, toMs: number): Promise<Arrival[]> {
  return database.rows(
    `SELECT
       Tenant AS tenant,
       TraceId AS traceId,
       toUnixTimestamp64Milli(min(ArrivedAt)) AS firstArrivalMs,
       toUnixTimestamp64Milli(max(ArrivedAt)) AS lastArrivalMs,
       groupUniqArrayArray(SpanIds) AS spanIds,
       groupUniqArrayArray(ParentIds) AS parentIds,
       toBool(max(RootSeen)) AS rootSeen,
       toBool(${agentSeenSql('groupUniqArrayArray(Signals)', database.agentSignals)}) AS agentSeen
     FROM trace_arrivals
     WHERE ArrivedAt >= fromUnixTimestamp64Milli({from:Int64})
       AND ArrivedAt < fromUnixTimestamp64Milli({to:Int64})
     GROUP BY Tenant, TraceId`,
    { from: Math.trunc(fromMs), to: Math.trunc(toMs) },
  );
}

/** Activity as it is stored: nanoseconds are texts. */
export type ActivityRow = Omit<TraceActivity, 'firstStartUnixNano' | 'lastEndUnixNano'> & {
  readonly firstStart: string;
  readonly lastEnd: string;
};

/** Columns of an `ActivityRow`, for `FROM trace_activity … GROUP BY Tenant, TraceId`. Its end is never before its start. */
export function activityColumns({ agentSignals }: Pick<Database, 'agentSignals'>): string {
  const names = 'groupUniqArrayArray(Signals)';
  return `
  Tenant AS tenant,
  TraceId AS traceId,
  toUnixTimestamp64Milli(min(FirstArrival)) AS firstArrivalMs,
  toUnixTimestamp64Milli(max(LastArrival)) AS lastArrivalMs,
  toString(min(FirstStart)) AS firstStart,
  toString(greatest(max(LastEnd), min(FirstStart))) AS lastEnd,
  toBool(max(RootSeen)) AS rootSeen,
  toBool(${agentSeenSql(names, agentSignals)}) AS agentSeen,
  toBool(${knownLateSql(names, 'firstArrivalMs', agentSignals)}) AS knownLate,
  toBool(max(ErrorSeen)) AS errorSeen`;
}

export function toActivity({ firstStart, lastEnd, knownLate = false, ...row }: ActivityRow): TraceActivity {
  const times = { firstStartUnixNano: BigInt(firstStart), lastEndUnixNano: BigInt(lastEnd) };
  return { ...row, ...times, ...(knownLate ? { knownLate } : {}) };
}

/** Keyed by `joinTraceKey`; traces without activity are absent. */
export async function readActivity(
  database: Database,
  keys: readonly TraceKey[],
): Promise<Map<string, TraceActivity>> {
  const rows = await readSlices(keys, (slice) =>
    database.rows<ActivityRow>(
      `SELECT ${activityColumns(database)} FROM trace_activity WHERE ${IN_KEYS} GROUP BY Tenant, TraceId`,
      keyParams(slice),
    ),
  );
  return new Map(rows.map((row) => [joinTraceKey(row), toActivity(row)]));
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

/**
 * Adds an arrival without spans to each stored trace, by the store's clock: live scoring looks at the trace again when it is quiet.
 * Does nothing with traces that are not stored, or whose first arrival is earlier.
 * @param sinceMs earliest first arrival, Unix milliseconds
 */
export async function reopenTraces(
  database: Pick<Database, 'insertSelected'>,
  keys: readonly TraceKey[],
  sinceMs: number,
): Promise<void> {
  for (const slice of splitIntoSlices(keys)) {
    await database.insertSelected(
      `INSERT INTO trace_arrivals
         (ArrivedAt, Tenant, TraceId, SpanIds, ParentIds, FirstStart, LastEnd, Signals, RootSeen, ErrorSeen)
       SELECT now64(9), Tenant, TraceId, [], [], min(FirstStart), max(LastEnd), groupUniqArrayArray(Signals), max(RootSeen), 0
       FROM trace_activity WHERE ${IN_KEYS} GROUP BY Tenant, TraceId
       HAVING min(FirstArrival) >= fromUnixTimestamp64Milli({since:Int64})`,
      { ...keyParams(slice), since: Math.trunc(sinceMs) },
    );
  }
}

import { compareValues } from '../../domain/compare-values.ts';
import { WHOLE_RULE } from '../../domain/decision.ts';
import type { WaitingCount, WaitingQuery } from '../contracts/aggregates/coverage.ts';
import type { CoveredCell } from '../contracts/stores.ts';
import { CELLS } from '../aggregates/decided-cells.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';
import { activityColumns } from '../spans/activity.ts';
import { cellParams } from '../spans/trace-keys.ts';
import { CANDIDATES, DECIDED, readRanges } from '../spans/undecided.ts';
import { IS_TURN, SESSION_ACTIVITY } from './sessions.ts';

const OF_TENANT = 'AND Tenant = {tenant:String}';

/** Counts traces and sessions without any decision of a scorer that covers them. */
export async function countWaiting(database: Database, query: WaitingQuery): Promise<WaitingCount[]> {
  const ofSessions = query.cells.filter((cell) => cell.ofSessions === true);
  const ofTraces = query.cells.filter((cell) => cell.ofSessions !== true);
  const counts = new Map<string, WaitingCount>();
  const found = [
    ...(await countWaitingTraces(database, query, ofTraces)),
    ...(await countWaitingSessions(database, query, ofSessions)),
  ];
  for (const { rule, scorer, waiting } of found) {
    const name = JSON.stringify([rule, scorer]);
    const before = counts.get(name)?.waiting ?? 0;
    counts.set(name, { rule, scorer, waiting: before + Number(waiting) });
  }
  return [...counts.values()].toSorted(
    (a, b) => compareValues(a.rule, b.rule) || compareValues(a.scorer, b.scorer),
  );
}

interface WaitingRow {
  readonly rule: string;
  readonly scorer: string;
  readonly waiting: string;
}

/** A trace counts in the range of its first arrival, once. */
async function countWaitingTraces(
  database: Database,
  { sinceMs, nowMs, tenant }: WaitingQuery,
  cells: readonly CoveredCell[],
): Promise<WaitingRow[]> {
  if (cells.length === 0) {
    return [];
  }
  const found: WaitingRow[] = [];
  for (const [fromMs, toMs] of await readRanges(database, { sinceMs: Math.max(0, sinceMs), nowMs })) {
    const rows = await database.rows<WaitingRow>(
      `SELECT cell.1 AS rule, cell.2 AS scorer, count() AS waiting
       FROM (
         SELECT ${activityColumns(database)} FROM trace_activity
         WHERE (Tenant, TraceId) IN (${CANDIDATES}) ${tenant === undefined ? '' : OF_TENANT}
         GROUP BY Tenant, TraceId
         HAVING agentSeen = 1 AND knownLate = 0 AND firstArrival >= {from:Int64} AND firstArrival < {to:Int64}) AS activity
       LEFT JOIN (${DECIDED}) AS decided ON activity.tenant = decided.tenant AND activity.traceId = decided.traceId
       ARRAY JOIN ${CELLS} AS cell
       WHERE cell.3 <= activity.firstArrival AND activity.firstArrival < cell.4
         AND NOT arrayExists(target -> target.1 = cell.1 AND (target.2 >= 0 OR has(target.3, cell.2)), decided.targets)
       GROUP BY rule, scorer`,
      {
        from: fromMs,
        to: toMs,
        tenant: tenant ?? '',
        rules: [...new Set(cells.map(({ rule }) => rule))],
        ...cellParams(cells),
      } satisfies QueryParams,
    );
    found.push(...rows);
  }
  return found;
}

async function countWaitingSessions(
  database: Database,
  { sinceMs, tenant }: WaitingQuery,
  cells: readonly CoveredCell[],
): Promise<WaitingRow[]> {
  if (cells.length === 0) {
    return [];
  }
  const ofTenant = tenant === undefined ? '' : OF_TENANT;
  return database.rows<WaitingRow>(
    `SELECT cell.1 AS rule, cell.2 AS scorer, count() AS waiting
     FROM (
       SELECT ${SESSION_ACTIVITY} FROM runs
       WHERE ${IS_TURN} AND WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) ${ofTenant}
       GROUP BY Tenant, SessionId) AS session
     LEFT JOIN (
       SELECT Tenant AS tenant, TargetId AS targetId, groupUniqArray((Rule, Scorer)) AS rows
       FROM decisions FINAL
       WHERE TraceId = '' AND Target = 'session' AND NOT (Scorer = '${WHOLE_RULE}' AND Status = 'scored') ${ofTenant}
       GROUP BY Tenant, TargetId) AS decided
       ON session.tenant = decided.tenant AND session.targetId = decided.targetId
     ARRAY JOIN ${CELLS} AS cell
     WHERE cell.3 <= session.last AND session.last < cell.4
       AND NOT has(decided.rows, (cell.1, cell.2)) AND NOT has(decided.rows, (cell.1, '${WHOLE_RULE}'))
     GROUP BY rule, scorer`,
    { since: Math.max(0, Math.trunc(sinceMs)), tenant: tenant ?? '', ...cellParams(cells) },
  );
}

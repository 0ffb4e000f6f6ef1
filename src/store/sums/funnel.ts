import { BACKFILL_RULES, COMMAND_RULE } from '../../domain/decision.ts';
import type { FunnelQuery, FunnelReading, FunnelRow } from '../contracts/sums.ts';
import { bind, type Database } from '../database.ts';
import { pairParams } from '../spans/trace-keys.ts';
import { readRanges } from '../tables/decisions.ts';
import {
  chooseSource,
  CLOCKS_MS,
  currentTargets,
  OF_TENANT,
  readPieces,
  selectWaiting,
  WRITTEN,
} from './coverage.ts';
import { buildDecidedPairs } from './decision-hours.ts';
import { ofChoice, paramsOf, within } from './run-sums.ts';

/** Creates the counts of the funnel from runs to scores. */
export function createFunnelStore(database: Database) {
  return bind(database, { count: countFunnel });
}

/**
 * Counts the current decisions of rules on the runs that began in a range, by status and reason, and what waits for a first one. A run
 * that no row tells of began with its first span.
 */
async function countFunnel(database: Database, query: FunnelQuery): Promise<FunnelReading> {
  const { tenant, pairs } = query;
  const written = Math.max(0, Math.trunc(query.fromMs) - CLOCKS_MS);
  const params = { ...paramsOf(query), written, since: written, ...pairParams(pairs) };
  const source = await chooseSource(database, written);
  const found: FunnelRow[] = [];
  for (const [from, to] of await readPieces(database, query, { params, source })) {
    const piece = `TraceId >= {pieceFrom:String} ${to === null ? '' : 'AND TraceId < {pieceTo:String}'} ${tenant === undefined ? '' : OF_TENANT}`;
    const targets = currentTargets(source, `${WRITTEN} AND ${piece}`);
    const rows = await database.rows<FunnelRow>(
      `SELECT if(grouping(Scorer) = 1, NULL, Scorer) AS scorer, if(grouping(Status) = 1, NULL, Status) AS status,
         if(grouping(Reason) = 1, '', Reason) AS reason, count() AS count,
         uniqExactIf((Tenant, TraceId), TraceId != '') AS runs, arraySort(groupUniqArray(rule)) AS rules
       FROM (
         SELECT decided.Tenant AS Tenant, decided.TraceId AS TraceId, decided.rule AS rule, decided.scorer AS Scorer, decided.status AS Status,
           splitByString(': ', decided.reason)[1] AS Reason
         FROM (${buildDecidedPairs(targets)}) AS decided
         INNER JOIN (${selectStarted(query, piece)}) AS run
           ON decided.Tenant = run.Tenant AND decided.TraceId = run.TraceId AND if(decided.TraceId = '', decided.TargetId, '') = run.SessionTarget
         WHERE NOT startsWith(decided.rule, '${BACKFILL_RULES}') AND decided.rule != '${COMMAND_RULE}')
       GROUP BY GROUPING SETS ((Scorer, Status), (Status, Reason), ())`,
      { ...params, pieceFrom: from, pieceTo: to ?? '' },
    );
    found.push(...rows);
  }
  return { rows: addUp(found), waiting: await countWaiting(database, query) };
}

/** Returns SQL for the runs and sessions that began in the range: one without a row began with the first span of its trace. */
function selectStarted(query: FunnelQuery, piece: string): string {
  const { agent, environment } = query;
  const started = `SELECT Tenant, TraceId, if(TraceId = '', TargetId, '') AS SessionTarget
    FROM runs FINAL
    WHERE Target IN ('trace', 'session') AND (TraceId = '' OR TargetId = TraceId) AND ${within('StartedAt')} AND ${piece} AND ${ofChoice(query)}`;
  const spans = `FirstStart >= {from:Int64} * 1000000 AND FirstStart < {to:Int64} * 1000000 AND ${piece}`;
  return agent !== undefined || environment !== undefined
    ? started
    : `${started}
    UNION ALL
    SELECT DISTINCT Tenant, TraceId, '' AS SessionTarget FROM trace_starts
    WHERE ${spans} AND (Tenant, TraceId) NOT IN (
      SELECT Tenant, TraceId FROM runs FINAL WHERE Target = 'trace' AND (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM trace_starts WHERE ${spans}))`;
}

/** Adds the counts of pieces: a trace is in one of them. */
function addUp(counts: readonly FunnelRow[]): FunnelRow[] {
  const groups = Map.groupBy(counts, ({ scorer, status, reason }) =>
    JSON.stringify([scorer, status, reason]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const add = (read: (row: FunnelRow) => number) => group.reduce((sum, row) => sum + read(row), 0);
    const rules = [...new Set(group.flatMap((row) => row.rules))].toSorted();
    return first === undefined
      ? []
      : [{ ...first, count: add((row) => row.count), runs: add((row) => row.runs), rules }];
  });
}

/** Counts what waits for a first decision. Its agent is not known yet, so there is none of an agent or an environment. */
async function countWaiting(database: Database, query: FunnelQuery): Promise<FunnelReading['waiting']> {
  const { fromMs, toMs, nowMs, tenant, live, agent, environment } = query;
  const waiting = { count: 0, undecided: 0, traceIds: [] as string[] };
  if (live.length === 0 || agent !== undefined || environment !== undefined) {
    return waiting;
  }
  const pairs = live.filter(({ ofSessions }) => ofSessions !== true);
  for (const [from, to] of await readRanges(database, { sinceMs: Math.max(0, fromMs - CLOCKS_MS), nowMs })) {
    const rows = await database.rows<{ traceId: string; pairs: number; isDecided: boolean }>(
      `SELECT activity.traceId AS traceId, count() AS pairs, toBool(notEmpty(any(decided.targets))) AS isDecided
       FROM ${selectWaiting(database, tenant)}
         AND toInt64(activity.firstStart) >= {startFrom:Int64} * 1000000 AND toInt64(activity.firstStart) < {startTo:Int64} * 1000000
       GROUP BY activity.tenant, activity.traceId ORDER BY max(activity.firstArrivalMs) DESC`,
      {
        from,
        to,
        tenant: tenant ?? '',
        startFrom: Math.max(0, Math.trunc(fromMs)),
        startTo: Math.max(0, Math.trunc(toMs)),
        rules: [...new Set(pairs.map(({ rule }) => rule))],
        ...pairParams(pairs),
      },
    );
    for (const row of rows) {
      waiting.count += row.pairs;
      waiting.undecided += row.isDecided ? 0 : 1;
      waiting.traceIds.push(row.traceId);
    }
  }
  return waiting;
}

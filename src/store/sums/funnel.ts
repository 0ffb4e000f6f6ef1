import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import type { FunnelQuery, FunnelReading, FunnelRow, RunSumsQuery } from '../contracts/sums.ts';
import { bind, type Database } from '../database.ts';
import { pairParams } from '../spans/trace-keys.ts';
import { readRanges } from '../tables/decisions.ts';
import type { QueryParams } from '../values.ts';
import { CLOCKS_MS, currentTargets, readPieces, selectWaiting, SINCE, WRITTEN } from './coverage.ts';
import { IS_LIVE, ofNames, readSummedUntil, selectDecidedRuns } from './decision-hours.ts';
import { paramsOf, within } from './run-sums.ts';

/** Creates the counts of the funnel from runs to scores. */
export function createFunnelStore(database: Database) {
  return bind(database, { count: countFunnel });
}

/** Longest range whose trend has a point an hour, milliseconds; a longer one has a point a day. */
const HOURLY_MS = 3 * DAY_MS;

/**
 * Counts the current decisions of rules on the runs that began in a range, and what waits for a first one. Decisions of past hours are read
 * from their sums: a range that reaches into them has whole hours there.
 */
async function countFunnel(database: Database, query: FunnelQuery): Promise<FunnelReading> {
  const summedUntilMs = (await readSummedUntil(database)) ?? 0;
  const asked = { ...query, ...roundRange(query, summedUntilMs) };
  const { fromMs, toMs } = asked;
  const stepMs = toMs - fromMs <= HOURLY_MS ? HOUR_MS : DAY_MS;
  const params = { ...paramsOf(asked), ...pairParams(query.pairs), summedUntil: summedUntilMs, step: stepMs };
  const rows = await Promise.all([
    fromMs < summedUntilMs ? readHours(database, asked, params) : [],
    countPresent(database, asked, { params, summedUntilMs }),
    countWaiting(database, asked),
  ]);
  const [past, present, waiting] = rows;
  return { fromMs, toMs, stepMs, rows: addUp([...past, ...present]), waiting };
}

function roundRange({ fromMs, toMs }: RunSumsQuery, summedUntilMs: number) {
  return fromMs >= summedUntilMs
    ? { fromMs, toMs }
    : {
        fromMs: Math.floor(fromMs / HOUR_MS) * HOUR_MS,
        toMs: toMs < summedUntilMs ? Math.ceil(toMs / HOUR_MS) * HOUR_MS : toMs,
      };
}

/** Reads the sums of past hours. A run begins before its decisions are made, by clocks that differ. */
function readHours(database: Database, query: FunnelQuery, params: QueryParams): Promise<FunnelRow[]> {
  return database.rows<FunnelRow>(
    foldCounts(
      `SELECT Agent, toUnixTimestamp64Milli(RunBucket) AS startMs, Rule, Scorer, Status, Reason, Decisions,
         if(Status = '', Traces, 0) AS AllTraces, Traces - AllTraces AS SomeTraces
       FROM decision_hours FINAL
       WHERE Bucket >= fromUnixTimestamp64Milli({from:Int64}) - toIntervalMillisecond(${CLOCKS_MS})
         AND Bucket < fromUnixTimestamp64Milli({summedUntil:Int64}) AND ${within('RunBucket')} AND ${ofNames(query)} AND ${IS_LIVE}`,
      { count: 'sum(Decisions)', runs: 'if(grouping(Status) = 1, sum(AllTraces), sum(SomeTraces))' },
    ),
    params,
  );
}

/** Counts the decisions that the sums lack, in queries of limited size. */
function countPresent(
  database: Database,
  query: FunnelQuery,
  { params: of, summedUntilMs }: { readonly params: QueryParams; readonly summedUntilMs: number },
): Promise<FunnelRow[]> {
  const { tenant } = query;
  const written = Math.max(0, Math.trunc(Math.max(query.fromMs, summedUntilMs)) - CLOCKS_MS);
  const params = { ...of, tenant, written, since: summedUntilMs };
  return readPieces<FunnelRow>(database, params, (source, piece) => {
    const condition = `${SINCE} AND ${piece}`;
    const decided = selectDecidedRuns(
      currentTargets(source, condition),
      `SELECT Tenant, TraceId FROM ${source} WHERE ${condition}`,
      `${WRITTEN} AND ${piece}`,
    );
    return foldCounts(
      `SELECT * FROM (${decided})
       WHERE startMs >= {from:Int64} AND startMs < {to:Int64} AND ${ofNames(query)} AND ${IS_LIVE}`,
      { count: 'count()', runs: "uniqExactIf((Tenant, TraceId), TraceId != '')" },
    );
  });
}

/** Returns the statement that folds decisions: by scorer, by reason, by agent and over time, and of all together. */
function foldCounts(
  rows: string,
  { count, runs }: { readonly count: string; readonly runs: string },
): string {
  return `
    SELECT if(grouping(Scorer) = 1, NULL, toString(Scorer)) AS scorer, if(grouping(Status) = 1, NULL, toString(Status)) AS status,
      if(grouping(Reason) = 1, '', toString(Reason)) AS reason, if(grouping(Agent) = 1, NULL, toString(Agent)) AS agent,
      if(grouping(Step) = 1, NULL, Step) AS startMs, ${count} AS count, ${runs} AS runs,
      arraySort(groupUniqArrayIf(toString(Rule), Rule != '')) AS rules
    FROM (SELECT *, intDiv(startMs, {step:Int64}) * {step:Int64} AS Step FROM (${rows}))
    GROUP BY GROUPING SETS ((Scorer, Status), (Status, Reason), (Agent, Status), (Step, Status), ())
    HAVING (scorer IS NULL OR scorer != '') AND (status IS NULL OR status != '')`;
}

/** Adds the counts of the same kind. A trace of past and present hours counts in both. */
function addUp(counts: readonly FunnelRow[]): FunnelRow[] {
  const groups = Map.groupBy(counts, ({ scorer, status, reason, agent, startMs }) =>
    JSON.stringify([scorer, status, reason, agent, startMs]),
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

import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import {
  TRACE_FACETS,
  type CountedTraces,
  type FacetCount,
  type ListFilters,
  type TraceBucket,
  type TraceFacets,
} from '../contracts/lists.ts';
import type { Database } from '../database.ts';
import { buildConditions, buildDecided, OF_RUNS, ofTimes, type Conditions } from './list-conditions.ts';
import { buildScored } from './trace-list.ts';

/** Newest traces in which scorers and reasons are counted. */
const NEWEST = 10_000;

/** Most values of one facet. */
const MAX_VALUES = 100;

interface FacetRow extends FacetCount {
  readonly facet: keyof TraceFacets;
}

/** Counts the traces with a run that are as asked, and those with each value of a facet. */
export async function countTraceFacets(database: Database, filters: ListFilters): Promise<CountedTraces> {
  const { sql, params } = joinConditions(filters);
  const from = `FROM run_starts FINAL WHERE ${sql}`;
  const [ofRuns, ofNewest, buckets] = await Promise.all([
    database.rows<FacetRow>(countRuns(from), params),
    database.rows<FacetRow>(countNewest(from), params),
    countBuckets(database, filters, { sql: from, params }),
  ]);
  const counted = Map.groupBy([...ofRuns, ...ofNewest], ({ facet }) => facet as string);
  const facets = TRACE_FACETS.map((facet) => [
    facet,
    (counted.get(facet) ?? []).map(({ value, count }) => ({ value, count })),
  ]);
  const [all] = counted.get('runs') ?? [];
  return { facets: Object.fromEntries(facets) as TraceFacets, runs: all?.count ?? 0, buckets };
}

/** Longest range that is counted by the hour, milliseconds; a longer one is counted by the day. */
const HOURLY_MS = 3 * DAY_MS;

/** Counts the runs of a range over time, and those with a tool call that failed. A range without a begin has no buckets. */
async function countBuckets(
  database: Database,
  { sinceMs, untilMs = Date.now() }: ListFilters,
  { sql, params }: Conditions,
): Promise<readonly TraceBucket[]> {
  return sinceMs === undefined
    ? []
    : database.rows<TraceBucket>(
        `SELECT intDiv(toUnixTimestamp64Milli(StartedAt), {bucketMs:Int64}) * {bucketMs:Int64} AS startMs, count() AS runs,
           countIf(ToolErrors > 0) AS errors ${sql} GROUP BY startMs ORDER BY startMs`,
        { ...params, bucketMs: untilMs - sinceMs <= HOURLY_MS ? HOUR_MS : DAY_MS },
      );
}

function joinConditions(filters: ListFilters): Conditions {
  const parts = [
    buildConditions(filters, OF_RUNS, ofTimes('StartedAt')),
    buildScored(filters),
    buildDecided(filters, '1'),
  ];
  return {
    sql: parts.map(({ sql }) => sql).join(' AND '),
    params: Object.assign({}, ...parts.map(({ params }) => params)) as Conditions['params'],
  };
}

/** Returns the statement that counts all runs by their own facets; one read for all facets. */
function countRuns(from: string): string {
  return `SELECT pair.1 AS facet, pair.2 AS value, count() AS count FROM (
      SELECT arrayJoin(arrayConcat(
        [('runs', ''), ('agent', toString(Agent)), ('agentVersion', toString(AgentVersion)), ('environment', toString(Environment)),
          ('service', toString(ServiceName))],
        arrayMap(name -> ('model', toString(name)), Models), arrayMap(name -> ('tool', toString(name)), Tools))) AS pair ${from})
    WHERE value != '' OR facet = 'runs'
    GROUP BY facet, value ORDER BY count DESC, value LIMIT ${MAX_VALUES} BY facet`;
}

/** Returns the statement that counts the newest runs by their scorers, and by the codes of the reasons for none. */
function countNewest(from: string): string {
  return `WITH newest AS (SELECT Tenant, TraceId ${from} ORDER BY StartedAt DESC LIMIT ${NEWEST})
    SELECT * FROM (
      SELECT 'scorer' AS facet, toString(Scorer) AS value, uniqExact(Tenant, TraceId) AS count
      FROM scores FINAL WHERE (Tenant, TraceId) IN newest GROUP BY value
      UNION ALL
      SELECT 'notScored' AS facet, substringIndex(Reason, ':', 1) AS value, uniqExact(Tenant, TraceId) AS count
      FROM decisions FINAL WHERE (Tenant, TraceId) IN newest AND Status != 'scored' AND Reason != '' GROUP BY value)
    ORDER BY count DESC, value LIMIT ${MAX_VALUES} BY facet`;
}

import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import {
  TRACE_FACETS,
  type CountedTraces,
  type FacetCount,
  type ListFilters,
  type TraceFacets,
} from '../contracts/lists.ts';
import type { Database } from '../database.ts';
import { IN_KEYS, keyParams } from '../spans/trace-keys.ts';
import { chooseSource, CLOCKS_MS } from '../sums/coverage.ts';
import { selectRunSums } from '../sums/run-hours.ts';
import { AGENT_NAME } from '../sums/run-sums.ts';
import { READ_SETTINGS } from '../sums/score-sums.ts';
import {
  buildConditions,
  buildDecided,
  OF_RUNS,
  ofRange,
  ofTimes,
  startOf,
  type Conditions,
} from './list-conditions.ts';
import { buildScored } from './trace-list.ts';

/** Newest traces in which scorers and reasons are counted. */
const NEWEST = 10_000;

/** Most values of one facet, and most buckets of time: more than a range has. */
const MAX_VALUES = 100;
const MAX_BUCKETS = 1_000;

interface FacetRow extends FacetCount {
  readonly facet: keyof TraceFacets | 'runs' | 'bucket';
  /** Runs with a tool call that failed. */
  readonly errors: number;
}

/** Facets whose values stand in other tables than the run. */
const BESIDE_RUNS: readonly (keyof TraceFacets)[] = ['scorer', 'notScored'];

/**
 * Counts the traces with a run that are as asked, and those with each value of a facet.
 * @param of facets to count
 */
export async function countTraceFacets(
  database: Database,
  filters: ListFilters,
  of: readonly (keyof TraceFacets)[],
): Promise<CountedTraces> {
  const { sql, params } = joinConditions(filters);
  const { sinceMs, untilMs = Date.now() } = filters;
  const bucketMs = sinceMs === undefined ? 0 : untilMs - sinceMs <= HOURLY_MS ? HOUR_MS : DAY_MS;
  const [ofRuns, ofNewest] = await Promise.all([
    Object.keys(filters).every(
      (name) => filters[name as keyof ListFilters] === undefined || OF_SUMS.has(name),
    )
      ? countSums(database, filters, { of, bucketMs })
      : database.rows<FacetRow>(countRuns(`FROM run_starts FINAL WHERE ${sql}`, of, bucketMs), params),
    of.some((facet) => BESIDE_RUNS.includes(facet)) ? countNewest(database, { sql, params }) : [],
  ]);
  const counted = Map.groupBy([...ofRuns, ...ofNewest], ({ facet }) => facet as string);
  const facets = TRACE_FACETS.map((facet) => [
    facet,
    (counted.get(facet) ?? []).slice(0, MAX_VALUES).map(({ value, count }) => ({ value, count })),
  ]);
  const [all] = counted.get('runs') ?? [];
  const buckets = (counted.get('bucket') ?? [])
    .map(({ value, count, errors }) => ({ startMs: Number(value), runs: count, errors }))
    .toSorted((a, b) => a.startMs - b.startMs);
  return { facets: Object.fromEntries(facets) as TraceFacets, runs: all?.count ?? 0, buckets };
}

/** Longest range that is counted by the hour, milliseconds; a longer one is counted by the day. */
const HOURLY_MS = 3 * DAY_MS;

function joinConditions(filters: ListFilters): Conditions {
  const parts = [
    buildConditions(filters, ofRange(filters), ofTimes('StartedAt')),
    buildScored(filters),
    buildDecided(filters, '1'),
  ];
  return {
    sql: parts.map(({ sql }) => sql).join(' AND '),
    params: Object.assign({}, ...parts.map(({ params }) => params)) as Conditions['params'],
  };
}

/** Filters by the columns of the sums of runs. */
const OF_SUMS: ReadonlySet<string> = new Set<keyof ListFilters>([
  'tenant',
  'sinceMs',
  'untilMs',
  'agent',
  'agentVersion',
  'environment',
  'service',
  'serviceVersion',
]);

interface RunValue {
  readonly column: string;
  /** SQL that gives the column. Absent: the table has it. */
  readonly sql?: string;
  /** Column of the sums of runs with the counts of a list. */
  readonly counts?: string;
}

/** Columns of the values of each facet of a run. */
const RUN_VALUES: Readonly<Partial<Record<keyof TraceFacets, RunValue>>> = {
  agent: { column: 'AgentName', sql: `${AGENT_NAME} AS AgentName` },
  agentVersion: { column: 'AgentVersion' },
  environment: { column: 'Environment' },
  service: { column: 'ServiceName' },
  tenant: { column: 'Tenant' },
  model: { column: 'Models', counts: 'ModelRuns' },
  tool: { column: 'Tools', counts: 'ToolRuns' },
};

function valuesOf(of: readonly (keyof TraceFacets)[]) {
  return of.flatMap((facet) => {
    const value = RUN_VALUES[facet];
    return value === undefined ? [] : [{ facet, ...value }];
  });
}

interface Counted {
  readonly of: readonly (keyof TraceFacets)[];
  /** Length of a bucket; 0 for none. */
  readonly bucketMs: number;
}

/** Returns SQL for the start of the bucket of a time. */
function startSql(time: string, bucketMs: number): string {
  return bucketMs === 0 ? 'toInt64(0)' : `intDiv(toUnixTimestamp64Milli(${time}), ${bucketMs}) * ${bucketMs}`;
}

/**
 * Returns the statement that counts all runs, by their own facets, and over time, from rows of alike runs: the columns of the facets, `n`
 * runs of which some `failed`, and `start`.
 * @param listOf SQL for the pairs of a list and their counts
 */
function foldFacets(
  rows: string,
  { of, bucketMs }: Counted,
  listOf: (facet: { readonly facet: string; readonly column: string }) => string,
): string {
  const pairs = valuesOf(of).map(({ facet, column, counts }) =>
    counts === undefined ? `[('${facet}', toString(${column}), n)]` : listOf({ facet, column }),
  );
  const ofTime = bucketMs === 0 ? "[('runs', '', n)]" : "[('runs', '', n), ('bucket', toString(start), n)]";
  return `SELECT pair.1 AS facet, pair.2 AS value, sum(pair.3) AS count, sum(failed) AS errors FROM (
      SELECT arrayJoin(arrayConcat(${[ofTime, ...pairs].join(', ')})) AS pair, failed FROM (${rows}))
    WHERE value != '' OR facet = 'runs'
    GROUP BY facet, value ORDER BY count DESC, value LIMIT ${MAX_BUCKETS} BY facet`;
}

/** Counts runs by the sums of hours. */
async function countSums(database: Database, filters: ListFilters, counted: Counted): Promise<FacetRow[]> {
  const { tenant, sinceMs = 0, untilMs = Infinity, ...names } = filters;
  const asked = buildConditions(names, OF_RUNS);
  const { sql, params } = await selectRunSums(
    database,
    { fromMs: sinceMs, toMs: untilMs, tenant },
    { chosen: asked.sql, lists: ['values'] },
  );
  const values = valuesOf(counted.of);
  const single = values.filter(({ counts }) => counts === undefined);
  const maps = values.flatMap(({ column, counts }) =>
    counts === undefined ? [] : [`sumMap(${column}, ${counts}) AS Of${column}`],
  );
  const selected = single.map(({ column, sql: given = column }) => given);
  const rows = `SELECT ${[...selected, `${startSql('Bucket', counted.bucketMs)} AS start`, ...maps].join(', ')},
      sum(Runs) AS n, sum(ToolErrorRuns) AS failed
    FROM ${sql} GROUP BY ${[...single.map(({ column }) => column), 'start'].join(', ')}`;
  const statement = foldFacets(
    rows,
    counted,
    ({ facet, column }) => `arrayMap((name, each) -> ('${facet}', name, each), Of${column}.1, Of${column}.2)`,
  );
  return database.rows<FacetRow>(`${statement} ${READ_SETTINGS}`, { ...asked.params, ...params });
}

/** Returns the statement that counts runs one by one. Runs that are alike are counted together first, because the values of a run are several. */
function countRuns(from: string, of: readonly (keyof TraceFacets)[], bucketMs: number): string {
  const columns = [
    ...valuesOf(of).map(({ column, sql = column }) => sql),
    `${startSql('StartedAt', bucketMs)} AS start`,
  ];
  return foldFacets(
    `SELECT ${columns.join(', ')}, count() AS n, countIf(ToolErrors > 0) AS failed ${from} GROUP BY ALL`,
    { of, bucketMs },
    ({ facet, column }) => `arrayMap(name -> ('${facet}', toString(name), n), ${column})`,
  );
}

/** Most runs whose scores and decisions are found by their ids: of more, a read of the time since the first one is cheaper. */
const FEW = 100;

/**
 * Counts the newest runs by their scorers, and by the codes of the reasons for none. Scores and decisions of many runs are found by time: a
 * score is of the run or of a part of it that starts later, and a decision is written later, by clocks that differ.
 */
async function countNewest(database: Database, { sql, params }: Conditions): Promise<FacetRow[]> {
  const [row] = await database.rows<{ firstMs: number | null; few: [tenant: string, traceId: string][] }>(
    `SELECT toUnixTimestamp64Milli(minOrNull(StartedAt)) AS firstMs,
       if(count() > ${FEW}, [], groupArray(${FEW})((toString(Tenant), TraceId))) AS few FROM (
       SELECT StartedAt, Tenant, TraceId FROM run_starts WHERE ${sql} AND NOT IsDeleted ORDER BY StartedAt DESC LIMIT ${NEWEST})`,
    params,
  );
  const firstMs = row?.firstMs ?? null;
  if (row === undefined || firstMs === null) {
    return [];
  }
  const first = 'fromUnixTimestamp64Milli({first:Int64})';
  const found = row.few.length > 0 ? FOUND_BY_IDS : await findByTime(database, firstMs, sql);
  return database.rows<FacetRow>(
    `SELECT * FROM (
      SELECT 'scorer' AS facet, toString(Scorer) AS value, uniqExact(${TRACE}) AS count, 0 AS errors
      FROM ${found.scores} AND TraceTimestamp >= ${first} AND NOT IsDeleted GROUP BY value
      UNION ALL
      SELECT 'notScored' AS facet, code AS value, uniqExact(Trace) AS count, 0 FROM (
        SELECT ${TRACE} AS Trace, argMax((Status, substringIndex(Reason, ':', 1)), (Version, WrittenAt)) AS last, last.2 AS code
        FROM ${found.decisions}
        GROUP BY Trace, cityHash64(Target, TargetId, Rule, Scorer) HAVING last.1 != 'scored' AND code != '')
      GROUP BY value)
    ORDER BY count DESC, value LIMIT ${MAX_VALUES} BY facet`,
    {
      ...params,
      ...keyParams(row.few.map(([tenant, traceId]) => ({ tenant, traceId }))),
      first: startOf(firstMs),
    },
  );
}

/** SQL for a number that stands for a trace: numbers are counted much faster than texts. */
const TRACE = 'cityHash64(Tenant, TraceId)';

/** Sources of the scores and decisions of runs, up to their first conditions. */
interface Found {
  readonly scores: string;
  readonly decisions: string;
}

/** A score is never of an earlier day than its run, by the clocks of both. */
const FOUND_BY_IDS: Found = {
  scores: `scores PREWHERE ${IN_KEYS} AND Day >= toDate(fromUnixTimestamp64Milli({first:Int64}, 'UTC')) - 2 WHERE 1`,
  decisions: `decisions WHERE ${IN_KEYS}`,
};

async function findByTime(database: Database, firstMs: number, sql: string): Promise<Found> {
  const first = 'fromUnixTimestamp64Milli({first:Int64})';
  const newest = `(Tenant, TraceId) IN (SELECT Tenant, TraceId FROM run_starts WHERE StartedAt >= ${first} AND ${sql} AND NOT IsDeleted)`;
  const source = await chooseSource(database, firstMs - CLOCKS_MS);
  const written = `WrittenAt >= ${first} - toIntervalMillisecond(${CLOCKS_MS})`;
  return {
    scores: `score_starts WHERE ${newest}`,
    decisions: `${source} WHERE ${source === 'decisions' ? '1' : written} AND ${newest}`,
  };
}

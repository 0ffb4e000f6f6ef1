import { HOUR_MS } from '../../domain/durations.ts';
import type { AggregateStore, RunSumsQuery, TouchedHour } from '../contracts/sums.ts';
import type { Database } from '../database.ts';
import { readDoneUntil } from '../tables/progress.ts';
import type { QueryParams } from '../values.ts';
import { createProgress, hourOf, isAsked, listHours, replaceBuckets } from './score-sums.ts';

/** Name of the progress of runs. With a new name, the first pass computes all hours again. */
const PROGRESS = 'run hours';

/** Time by which later spans seldom move the start of a run, milliseconds: a row with the former start is out of date. */
export const MOVED_MS = HOUR_MS;

/** Time before the end of a pass from which rows are looked at again: an insert becomes visible up to 30 s after its stamp. */
const OVERLAP_MS = 45_000;

/** Growth of the durations of two steps that are next to each other: a quantile of past hours is right within half a percent. */
const STEP_GROWTH = 1.01;

/** Condition on a row of `run_starts`: the run of an agent. */
export const IS_RUN = "NOT IsDeleted AND NotScorable != 'no_agent_or_llm_span'";

/** Columns that identify a row of the sums. `Model` is the most used one. */
const KEYS = 'Tenant, Bucket, Agent, ServiceName, Environment, AgentVersion, ServiceVersion, Model, IsAgent';

const COLUMNS = `Runs, ReadRuns, ToolErrorRuns, CostUsd, CostedRuns, UnpricedRuns, Tokens, CountedRuns, FirstAt, UncostedModels,
  Durations, DurationRuns, Models, ModelRuns, Tools, ToolRuns`;

/** Models of runs without a cost that a row names. */
const MAX_UNCOSTED = 20;

/** SQL for the numbers of rows of `run_starts`, in the order of `COLUMNS` without the durations. */
const NUMBERS = `count() AS Runs, countIf(ToolCalls IS NOT NULL) AS ReadRuns, countIf(ifNull(ToolErrors, 0) > 0) AS ToolErrorRuns,
    sum(ifNull(Cost, 0)) AS CostUsd, count(Cost) AS CostedRuns, countIf(Cost IS NULL AND notEmpty(Used)) AS UnpricedRuns,
    sum(ifNull(TotalTokens, 0)) AS Tokens, count(TotalTokens) AS CountedRuns, min(StartedAt) AS FirstAt,
    groupUniqArrayArrayIf(${MAX_UNCOSTED})(Used, Cost IS NULL) AS UncostedModels`;

const LISTS = `sumMap(arrayDistinct(Used), arrayMap(model -> toUInt64(1), arrayDistinct(Used))) AS OfModels,
    sumMap(arrayDistinct(Called), arrayMap(tool -> toUInt64(1), arrayDistinct(Called))) AS OfTools`;

/** SQL for a duration in steps of growing length. */
const STEP = `if(DurationMs > 0, exp(round(log(DurationMs) / log(${STEP_GROWTH})) * log(${STEP_GROWTH})), 0.)`;

/**
 * Returns SQL for the sums of current runs: the first run of each trace. Of rows with different starts the newest counts.
 * @param near condition on `StartedAt` that takes the rows of moved starts in, too
 * @param chosen condition on the rows that are summed
 */
function sumRows(
  { near, chosen, ofTenant }: { readonly near: string; readonly chosen: string; readonly ofTenant: string },
  durations: 'steps' | 'exact',
): string {
  const [numbers, values, counts] =
    durations === 'steps'
      ? [`sumMap([${STEP}], [toUInt64(1)]) AS OfDurations`, 'OfDurations.1', 'OfDurations.2']
      : ['groupArray(DurationMs) AS Each', 'Each', 'arrayMap(each -> toUInt64(1), Each)'];
  return `
  SELECT ${KEYS}, Runs, ReadRuns, ToolErrorRuns, CostUsd, CostedRuns, UnpricedRuns, Tokens, CountedRuns, FirstAt, UncostedModels,
    ${values} AS Durations, ${counts} AS DurationRuns, OfModels.1 AS Models, OfModels.2 AS ModelRuns, OfTools.1 AS Tools,
    OfTools.2 AS ToolRuns
  FROM (
    SELECT ${KEYS}, ${NUMBERS}, ${numbers}, ${LISTS}
    FROM (
      SELECT Tenant, StartedAt, ${hourOf('StartedAt')} AS Bucket, Agent, ServiceName, Environment, AgentVersion, ServiceVersion,
        arrayMap(name -> toString(name), Models) AS Used, Used[1] AS Model,
        arrayMap(name -> toString(name), Tools) AS Called, toUInt8(${IS_RUN}) AS IsAgent, IsDeleted,
        CostUsd AS Cost, ToolCalls, ToolErrors, TotalTokens, DurationMs
      FROM (SELECT * FROM run_starts WHERE (${near}) AND ${ofTenant} ORDER BY Version DESC LIMIT 1 BY Tenant, TraceId))
    WHERE NOT IsDeleted AND (${chosen})
    GROUP BY ${KEYS})`;
}

const HAS_ENDED = 'StartedAt < fromUnixTimestamp64Milli({until:Int64})';

const ALL_HOURS = `
  SELECT Tenant, ${hourOf('StartedAt')} AS Hour, count() AS HourRows FROM run_starts WHERE ${HAS_ENDED} GROUP BY Tenant, Hour
  UNION ALL SELECT Tenant, Bucket, 0 FROM run_hours GROUP BY Tenant, Bucket`;

const WRITTEN = 'WrittenAt >= fromUnixTimestamp64Milli({since:Int64})';

/** Hours of written runs with the hours beside them, which may have had these runs before, and hours of deleted ones. */
const TOUCHED = `
  SELECT Tenant, arrayJoin([-1, 0, 1]) AS Beside, addHours(${hourOf('StartedAt')}, Beside) AS Hour, count() AS HourRows FROM run_starts
  WHERE ${WRITTEN} GROUP BY Tenant, Hour, Beside
  UNION ALL SELECT Tenant, 0, Bucket, 0 FROM aggregate_touches WHERE ${WRITTEN} GROUP BY Tenant, Bucket`;

/** Hours that have ended since the last pass, whenever their runs were written. */
const NEWLY_ENDED = `
  SELECT Tenant, ${hourOf('StartedAt')} AS Hour, count() AS HourRows FROM run_starts
  WHERE StartedAt >= fromUnixTimestamp64Milli({ended:Int64}) AND ${HAS_ENDED} GROUP BY Tenant, Hour`;

/** Creates the computation of the sums of runs by the hour of their start. Hours that have not ended are counted when they are read. */
export function createRunHours(database: Database, nowMs: () => Promise<number>): AggregateStore {
  return {
    nowMs,
    ...createProgress(database, PROGRESS),
    allHours: async () => listHours(database, ALL_HOURS, { until: floorHour(await nowMs()) }),
    touchedSince: async (sinceMs) =>
      listHours(
        database,
        `SELECT Tenant, Hour, HourRows FROM (${TOUCHED}) WHERE Hour < fromUnixTimestamp64Milli({until:Int64}) UNION ALL ${NEWLY_ENDED}`,
        {
          since: atLeastZero(sinceMs),
          until: floorHour(await nowMs()),
          ended: atLeastZero(floorHour(sinceMs)),
        },
      ),
    compute: (hours) => computeHours(database, hours),
  };
}

const floorHour = (atMs: number) => Math.floor(atMs / HOUR_MS) * HOUR_MS;
const ceilHour = (atMs: number) => Math.ceil(atMs / HOUR_MS) * HOUR_MS;
const atLeastZero = (atMs: number) => Math.max(0, Math.trunc(atMs));

function computeHours(database: Database, hours: readonly TouchedHour[]): Promise<void> {
  const near = `StartedAt >= fromUnixTimestamp64Milli({first:Int64} - ${MOVED_MS})
    AND StartedAt < fromUnixTimestamp64Milli({last:Int64} + ${HOUR_MS + MOVED_MS})`;
  return replaceBuckets(
    database,
    {
      table: 'run_hours',
      keys: KEYS,
      columns: COLUMNS,
      empty: `0, 0, 0, 0, 0, 0, 0, 0, FirstAt, emptyArrayString(), emptyArrayFloat64(), emptyArrayUInt64(), emptyArrayString(),
        emptyArrayUInt64(), emptyArrayString(), emptyArrayUInt64()`,
      // Of the two rows of a key, one is empty.
      sums: `sum(Runs) AS AllRuns, sum(ReadRuns), sum(ToolErrorRuns), sum(CostUsd), sum(CostedRuns), sum(UnpricedRuns), sum(Tokens),
        sum(CountedRuns), maxIf(FirstAt, Runs > 0), ${[
          'UncostedModels',
          'Durations',
          'DurationRuns',
          'Models',
          'ModelRuns',
          'Tools',
          'ToolRuns',
        ]
          .map((list) => `arrayFlatten(groupArray(${list}))`)
          .join(', ')}`,
      isEmpty: 'AllRuns = 0',
      rows: sumRows({ near, chosen: isAsked('Bucket'), ofTenant: '1' }, 'steps'),
    },
    { buckets: hours.map(({ tenant, hourMs }) => [tenant, hourMs]) },
  );
}

/** Range of starts of runs, Unix milliseconds: [from, to). */
type Range = readonly [fromMs: number, toMs: number];

/** Most ranges of runs that one query reads beside the sums: of more, all between the first and the last is read. */
const MAX_RANGES = 30;

/** Latest time that the store can hold, Unix milliseconds. */
const LATEST_MS = Date.UTC(2299, 0, 1);

/**
 * Returns SQL for the sums of the runs that began in a range, with their keys and columns: of past hours from their sums, of all others from
 * the runs.
 * @param chosen conditions on the columns of keys, by which both are left out
 */
export async function selectRunSums(
  database: Database,
  { fromMs, toMs, tenant }: Pick<RunSumsQuery, 'fromMs' | 'toMs' | 'tenant'>,
  chosen: string,
): Promise<{ readonly sql: string; readonly params: QueryParams }> {
  const from = atLeastZero(fromMs);
  const to = Math.min(LATEST_MS, atLeastZero(toMs));
  const ofTenant = tenant === undefined ? '1' : 'Tenant = {tenant:String}';
  const { rows, summed } = await splitRange(database, [from, to]);
  const within = (column: string, ranges: readonly Range[], marginMs = 0) =>
    ranges
      .map(
        ([first, end]) =>
          `(${column} >= fromUnixTimestamp64Milli(${first - marginMs}) AND ${column} < fromUnixTimestamp64Milli(${end + marginMs}))`,
      )
      .join(' OR ') || '0';
  const ofHours = `SELECT ${KEYS}, ${COLUMNS} FROM run_hours FINAL WHERE (${within('Bucket', summed)}) AND ${ofTenant} AND ${chosen}`;
  const ofRows = sumRows(
    {
      near: within('StartedAt', rows, MOVED_MS),
      chosen: `(${within('StartedAt', rows)}) AND ${chosen}`,
      ofTenant,
    },
    'exact',
  );
  const parts = [...(summed.length === 0 ? [] : [ofHours]), ...(rows.length === 0 ? [] : [ofRows])];
  return { sql: `(${parts.join(' UNION ALL ')})`, params: { tenant } };
}

/** Splits a range into hours whose sums are up to date, and ranges of runs. */
async function splitRange(database: Database, [from, to]: Range) {
  const doneMs = (await readDoneUntil(database, 'aggregate', PROGRESS)) ?? 0;
  const [first, end] = [ceilHour(from), Math.min(floorHour(to), floorHour(doneMs))];
  if (first >= end) {
    return { rows: [[from, to]] as Range[], summed: [] };
  }
  const lacking = await database.rows<{ hourMs: number }>(
    `SELECT DISTINCT toUnixTimestamp64Milli(Hour) AS hourMs FROM (${TOUCHED})
     WHERE Hour >= fromUnixTimestamp64Milli({first:Int64}) AND Hour < fromUnixTimestamp64Milli({end:Int64}) ORDER BY hourMs`,
    { since: atLeastZero(doneMs - OVERLAP_MS), first, end },
  );
  const ranges = lacking.map(({ hourMs }): Range => [hourMs, hourMs + HOUR_MS]);
  const rows = joinRanges([[from, first], ...ranges, [end, to]]);
  const gaps = rows.slice(1).map(([start], index): Range => [rows[index]?.[1] ?? start, start]);
  return { rows: rows.filter(([start, stop]) => start < stop), summed: gaps };
}

/** Joins ranges that touch, in the order of time; the first and the last stay apart, when others are too many. */
function joinRanges(ranges: readonly Range[]): Range[] {
  const joined: Range[] = [];
  for (const [start, stop] of ranges) {
    const last = joined.at(-1);
    if (last !== undefined && start <= last[1]) {
      joined[joined.length - 1] = [last[0], Math.max(last[1], stop)];
    } else {
      joined.push([start, stop]);
    }
  }
  const [head, ...others] = joined;
  const tail = others.pop();
  return head === undefined || tail === undefined || others.length <= MAX_RANGES
    ? joined
    : [head, [others[0]?.[0] ?? 0, others.at(-1)?.[1] ?? 0], tail];
}

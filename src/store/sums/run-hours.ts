import { HOUR_MS } from '../../domain/durations.ts';
import type { AggregateStore, RunSumsQuery, TouchedHour } from '../contracts/sums.ts';
import type { Database } from '../database.ts';
import { readDoneUntil } from '../tables/progress.ts';
import type { QueryParams } from '../values.ts';
import {
  createProgress,
  hourOf,
  inRanges,
  isAsked,
  listHours,
  type Range,
  replaceBuckets,
} from './score-sums.ts';

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

/** Columns of the sums beside `NUMBERS` that a read may need. */
export type RunSumLists = 'durations' | 'values';

const NUMBERS =
  'Runs, ReadRuns, ToolErrorRuns, CostUsd, CostedRuns, UnpricedRuns, Tokens, CountedRuns, FirstAt';

const LISTS: Readonly<Record<RunSumLists, string>> = {
  durations: 'UncostedModels, Durations, DurationRuns',
  values: 'Models, ModelRuns, Tools, ToolRuns',
};

const ALL_LISTS: readonly RunSumLists[] = ['durations', 'values'];

function columnsOf(lists: readonly RunSumLists[]): string {
  return [KEYS, NUMBERS, ...lists.map((list) => LISTS[list])].join(', ');
}

/** Models of runs without a cost that a row names. */
const MAX_UNCOSTED = 20;

/** SQL for the numbers of runs, in the order of `NUMBERS`. */
const COUNTED = `count() AS Runs, countIf(ToolCalls IS NOT NULL) AS ReadRuns, countIf(ToolErrors > 0) AS ToolErrorRuns,
    sum(ifNull(Cost, 0)) AS CostUsd, count(Cost) AS CostedRuns, countIf(Cost IS NULL AND notEmpty(Used)) AS UnpricedRuns,
    sum(ifNull(TotalTokens, 0)) AS Tokens, count(TotalTokens) AS CountedRuns, min(StartedAt) AS FirstAt`;

const UNCOSTED = `groupUniqArrayArrayIf(${MAX_UNCOSTED})(Used, Cost IS NULL) AS UncostedModels`;

/** SQL for a duration in steps of growing length. */
const STEP = `if(DurationMs > 0, exp(round(log(DurationMs) / log(${STEP_GROWTH})) * log(${STEP_GROWTH})), 0.)`;
const STEPS = `sumMap([${STEP}], [toUInt64(1)])`;

const countEach = (list: string) => `sumMap(${list}, arrayWithConstant(length(${list}), toUInt64(1)))`;

/** SQL for the lists of runs, in the order of `LISTS`. Durations of past hours are in steps. */
const LISTED: Readonly<Record<RunSumLists | 'steps', string>> = {
  durations: `${UNCOSTED}, groupArray(DurationMs) AS Durations, arrayWithConstant(length(Durations), toUInt64(1)) AS DurationRuns`,
  steps: `${UNCOSTED}, ${STEPS}.1 AS Durations, ${STEPS}.2 AS DurationRuns`,
  values: `${countEach('Used')}.1 AS Models, ${countEach('Used')}.2 AS ModelRuns, ${countEach('Called')}.1 AS Tools,
    ${countEach('Called')}.2 AS ToolRuns`,
};

interface SummedRows {
  /** Condition on `StartedAt` that takes the rows of moved starts in, too. */
  readonly near: string;
  /** Condition on the rows that are summed. */
  readonly chosen: string;
  readonly ofTenant: string;
}

/** Returns SQL for the sums of current runs: the first run of each trace. Of rows with different starts the newest counts. */
function sumRows({ near, chosen, ofTenant }: SummedRows, lists: readonly (keyof typeof LISTED)[]): string {
  return `
  SELECT Tenant, ${hourOf('StartedAt')} AS Bucket, Agent, ServiceName, Environment, AgentVersion, ServiceVersion, Used[1] AS Model,
    toUInt8(${IS_RUN}) AS IsAgent, ${[COUNTED, ...lists.map((list) => LISTED[list])].join(', ')}
  FROM (
    SELECT Tenant, StartedAt, Agent, ServiceName, Environment, AgentVersion, ServiceVersion, IsDeleted, NotScorable, ToolCalls, ToolErrors,
      TotalTokens, DurationMs, CostUsd AS Cost, arrayDistinct(CAST(Models, 'Array(String)')) AS Used,
      arrayDistinct(CAST(Tools, 'Array(String)')) AS Called
    FROM run_starts WHERE (${near}) AND ${ofTenant} ORDER BY Version DESC LIMIT 1 BY Tenant, TraceId)
  WHERE NOT IsDeleted AND (${chosen})
  GROUP BY ${KEYS}`;
}

const HAS_ENDED = 'StartedAt < fromUnixTimestamp64Milli({until:Int64})';

const ALL_HOURS = `
  SELECT Tenant, ${hourOf('StartedAt')} AS Hour, count() AS HourRows FROM run_starts WHERE ${HAS_ENDED} GROUP BY Tenant, Hour
  UNION ALL SELECT Tenant, Bucket, 0 FROM run_hours GROUP BY Tenant, Bucket`;

const WRITTEN = 'WrittenAt >= fromUnixTimestamp64Milli({since:Int64})';

/** Hours of written runs, hours that had these runs before, and hours of deleted runs. */
const TOUCHED = `
  SELECT Tenant, ${hourOf('StartedAt')} AS Hour, count() AS HourRows FROM run_starts
  WHERE StartedAt >= (SELECT min(StartedAt) FROM run_starts WHERE ${WRITTEN}) - toIntervalMillisecond(${MOVED_MS})
    AND StartedAt <= (SELECT max(StartedAt) FROM run_starts WHERE ${WRITTEN}) + toIntervalMillisecond(${MOVED_MS})
    AND (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM run_starts WHERE ${WRITTEN})
  GROUP BY Tenant, Hour
  UNION ALL SELECT Tenant, Bucket, 0 FROM aggregate_touches WHERE ${WRITTEN} GROUP BY Tenant, Bucket`;

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
      columns: [NUMBERS, LISTS.durations, LISTS.values].join(', '),
      empty: `0, 0, 0, 0, 0, 0, 0, 0, FirstAt, emptyArrayString(), emptyArrayFloat64(), emptyArrayUInt64(), emptyArrayString(),
        emptyArrayUInt64(), emptyArrayString(), emptyArrayUInt64()`,
      // Of the two rows of a key, one is empty.
      sums: `sum(Runs) AS AllRuns, sum(ReadRuns), sum(ToolErrorRuns), sum(CostUsd), sum(CostedRuns), sum(UnpricedRuns), sum(Tokens),
        sum(CountedRuns), maxIf(FirstAt, Runs > 0), ${ALL_LISTS.flatMap((list) => LISTS[list].split(', '))
          .map((list) => `arrayFlatten(groupArray(${list}))`)
          .join(', ')}`,
      isEmpty: 'AllRuns = 0',
      rows: sumRows({ near, chosen: isAsked('Bucket'), ofTenant: '1' }, ['steps', 'values']),
    },
    { buckets: hours.map(({ tenant, hourMs }) => [tenant, hourMs]) },
  );
}

/** Most ranges of runs that one query reads beside the sums: of more, all between the first and the last is read. */
const MAX_RANGES = 30;

/** Latest time that the store can hold, Unix milliseconds. */
const LATEST_MS = Date.UTC(2299, 0, 1);

/**
 * Returns SQL for the sums of the runs that began in a range, with their keys and columns: of past hours from their sums, of all others from
 * the runs.
 * @param choice conditions on the columns of keys, and lists that are needed: a statement of fewer columns is planned sooner
 */
export async function selectRunSums(
  database: Database,
  { fromMs, toMs, tenant }: Pick<RunSumsQuery, 'fromMs' | 'toMs' | 'tenant'>,
  { chosen, lists }: { readonly chosen: string; readonly lists: readonly RunSumLists[] },
): Promise<{ readonly sql: string; readonly params: QueryParams }> {
  const from = atLeastZero(fromMs);
  const to = Math.min(LATEST_MS, atLeastZero(toMs));
  const ofTenant = tenant === undefined ? '1' : 'Tenant = {tenant:String}';
  const { rows, summed } = await splitRange(database, [from, to]);
  const ofHours = `SELECT ${columnsOf(lists)} FROM run_hours FINAL WHERE (${inRanges('Bucket', summed)}) AND ${ofTenant} AND ${chosen}`;
  const ofRows = sumRows(
    {
      near: inRanges('StartedAt', rows, MOVED_MS),
      chosen: `(${inRanges('StartedAt', rows)}) AND ${chosen}`,
      ofTenant,
    },
    lists,
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
  const touched = await database.rows<{ hour: number }>(
    `SELECT DISTINCT intDiv(toUnixTimestamp64Milli(StartedAt), ${HOUR_MS}) AS hour FROM run_starts WHERE ${WRITTEN}
     UNION DISTINCT SELECT DISTINCT intDiv(toUnixTimestamp64Milli(Bucket), ${HOUR_MS}) FROM aggregate_touches WHERE ${WRITTEN}`,
    { since: atLeastZero(doneMs - OVERLAP_MS) },
  );
  const ranges = touched
    .map(({ hour }): Range => [Math.max(first, (hour - 1) * HOUR_MS), Math.min(end, (hour + 2) * HOUR_MS)])
    .filter(([start, stop]) => start < stop)
    .toSorted(([a], [b]) => a - b);
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

import { TupleParam } from '@clickhouse/client';
import { CHOICE_VERSION } from '../../domain/asked-answer.ts';
import type { AggregateFacet } from '../../domain/aggregate-facets.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import { BIN_GROWTH, RANGE_STEPS } from '../../domain/limits.ts';
import type { AggregateStore, TouchedHour } from '../contracts/sums.ts';
import type { Database } from '../database.ts';
import { recordSeenVersions } from '../monitors/deploy-markers.ts';
import { forgetProgress, markDoneUntil, readDoneUntil } from '../tables/progress.ts';
import type { QueryParams } from '../values.ts';

/** Column of each facet, in the tables of aggregates and in `scores`. */
export const FACET_COLUMNS: Readonly<Record<AggregateFacet, string>> = {
  agent: 'Agent',
  service: 'ServiceName',
  environment: 'Environment',
  model: 'Model',
  serviceVersion: 'ServiceVersion',
  agentVersion: 'AgentVersion',
  target: 'Target',
  fingerprint: 'Fingerprint',
};

/** Columns that identify a row of the aggregates. */
const KEY_COLUMNS = `Tenant, Scorer, Bucket, Source, Stratum, ${Object.values(FACET_COLUMNS).join(', ')},
  ScoreMin, ScoreMax, Direction, IsWeighted`;

/** Columns with numbers, in the order of the rows that are inserted. */
const SUM_COLUMNS = 'Scores, Weight, SquaredWeight, Total, SquaredTotal, Bins, BinScores, BinWeights';

/** Settings of reads with FINAL. Partitions are months of buckets, so rows of one key are in one of them. */
export const READ_SETTINGS = 'SETTINGS do_not_merge_across_partitions_select_final = 1';

/** Returns SQL for the start of the hour of a time, Unix milliseconds. */
function hourMsOf(time: string): string {
  return `toInt64(floor(toUnixTimestamp64Milli(${time}) / ${HOUR_MS})) * ${HOUR_MS}`;
}

/** Returns SQL for the start of the hour of a time. */
export function hourOf(time: string): string {
  return `fromUnixTimestamp64Milli(${hourMsOf(time)}, 'UTC')`;
}

/** Range of time, Unix milliseconds: [from, to). */
export type Range = readonly [fromMs: number, toMs: number];

/** Returns SQL for the condition that a time is in one of the ranges. */
export function inRanges(column: string, ranges: readonly Range[], marginMs = 0): string {
  return (
    ranges
      .map(
        ([first, end]) =>
          `(${column} >= fromUnixTimestamp64Milli(${first - marginMs}) AND ${column} < fromUnixTimestamp64Milli(${end + marginMs}))`,
      )
      .join(' OR ') || '0'
  );
}

/** Bin of the value 1 of a scorer without a range. Its bins of smaller values are above 0. */
const ONE_BIN = 40_000;

/**
 * SQL for what a row of `scores` adds to a mean: of a cascade, the score of the first judge, which all runs have, and the difference of the
 * second one, weighted by the probability that it was asked.
 */
const MEANT = `ifNull(if(Rung = 2, FirstScore + (Score - FirstScore) / RungProbability, Score), Score)`;

/** Direction of scores whose label is the result: they have no mean. */
export const LABELLED = 2;

/** SQL for the condition that the label of a row of `scores` is its result. */
export const IS_LABELLED = `ScorerVersion = '${CHOICE_VERSION}' AND HigherIsBetter IS NULL`;

/** Returns SQL for the bin of a score in a row of `scores`, from the columns `Low` and `High` of its range (equal: no range). */
function binOf(score: string): string {
  return `toInt32(if(High > Low,
  floor(least(1, greatest(0, (${score} - Low) / (High - Low))) * ${RANGE_STEPS} + 0.5),
  if(abs(${score}) < 1e-300, 0, sign(${score}) * (round(log(abs(${score})) / log(${BIN_GROWTH})) + ${ONE_BIN}))))`;
}

/**
 * SQL for the bins of a row of `scores`, the counts and the weights. A row that asked the second judge stands for others that did not: it
 * counts its score for all of them, and takes back the first judge's, so that shares of the scores are unbiased. A weight may be negative.
 * `Asked` is the probability of the second judge of a row that asked it, and 1 of other rows.
 */
const BINS = `arrayMap(value -> ${binOf('value')}, if(Asked < 1, [Score, First], [Score]))`;
const BIN_COUNTS = 'if(Asked < 1, [toUInt64(1), toUInt64(0)], [toUInt64(1)])';
const BIN_WEIGHTS = 'if(Asked < 1, [Share / Asked, Share - Share / Asked], [Share])';

const HAS_RANGE = 'ScoreMax > ScoreMin';
const RANGED = (bin: string) => `ScoreMin + (ScoreMax - ScoreMin) * ${bin} / ${RANGE_STEPS}`;
const RANGELESS = (bin: string) =>
  `if(${bin} = 0, 0, sign(${bin}) * pow(${BIN_GROWTH}, abs(${bin}) - ${ONE_BIN}))`;

/** Returns SQL for the value in the middle of a bin, in a row of the aggregates. */
export function valueOf(bin: string): string {
  return `toFloat64(if(${HAS_RANGE}, ${RANGED(bin)}, ${RANGELESS(bin)}))`;
}

/** SQL for the values of the bins of a row. The choice is made once a row: powers are not computed for each bin of a range. */
export const BIN_VALUES = `if(${HAS_RANGE}, arrayMap(bin -> ${RANGED('bin')}, Bins),
  arrayMap(bin -> toFloat64(${RANGELESS('bin')}), Bins))`;

/** Creates the progress of a kind of aggregates. */
export function createProgress(
  database: Database,
  name: string,
): Pick<AggregateStore, 'doneUntil' | 'markDone'> {
  return {
    doneUntil: () => readDoneUntil(database, 'aggregate', name),
    markDone: async (untilMs) => {
      // The store's clock went back: rows are written before the stored time.
      if (((await readDoneUntil(database, 'aggregate', name)) ?? 0) > untilMs) {
        await forgetProgress(database, 'aggregate', name);
      }
      await markDoneUntil(database, 'aggregate', name, untilMs);
    },
  };
}

/** Lists hours in the order of time. The query gives Tenant, Hour and HourRows. */
export function listHours(database: Database, sql: string, params: QueryParams = {}): Promise<TouchedHour[]> {
  return database.rows(
    `SELECT Tenant AS tenant, toUnixTimestamp64Milli(Hour) AS hourMs, sum(HourRows) AS rows
     FROM (${sql}) GROUP BY Tenant, Hour ORDER BY Hour, Tenant`,
    params,
  );
}

/** Start of a bucket of a tenant, Unix milliseconds. */
export type BucketKey = readonly [tenant: string, bucketMs: number];

/** SQL for the buckets of `askBuckets`. A list of values is much cheaper to plan than a subquery. */
export const ASKED_BUCKETS = '{asked:Array(Tuple(String, Int64))}';

/** Returns the parameters of `isAsked` for at least one bucket. */
export function askBuckets(buckets: readonly BucketKey[]): QueryParams {
  const starts = buckets.map(([, bucketMs]) => bucketMs);
  return {
    asked: buckets.map((bucket) => new TupleParam([...bucket])),
    first: Math.min(...starts),
    last: Math.max(...starts),
  };
}

/** Returns SQL for the condition on the tenants and buckets of `replaceBuckets`. The bounds let indexes leave out most rows. */
export function isAsked(bucket: string): string {
  return `${bucket} BETWEEN fromUnixTimestamp64Milli({first:Int64}, 'UTC') AND fromUnixTimestamp64Milli({last:Int64}, 'UTC')
    AND (Tenant, toUnixTimestamp64Milli(${bucket})) IN ${ASKED_BUCKETS}`;
}

/** Table of aggregates with the SQL of its rows. */
export interface BucketRows {
  readonly table: string;
  /** Key columns, `Tenant` and `Bucket` among them. */
  readonly keys: string;
  /** Columns with numbers that are inserted. */
  readonly columns: string;
  /** Query of the keys and the numbers of the asked buckets. */
  readonly rows: string;
  /** Numbers of an empty row, as in `rows`. */
  readonly empty: string;
  /** Sums over the rows of a key, in the order of `columns`. */
  readonly sums: string;
  /** Condition on the sums of an empty row. */
  readonly isEmpty: string;
}

/**
 * Computes buckets and replaces what was there by one insert. Rows that the bucket no longer has become deleted ones. Two processes may
 * do this at once: the later computation wins, or a repeat within the overlap of the passes does.
 */
export async function replaceBuckets(
  database: Database,
  { table, keys, columns, rows, empty, sums, isEmpty }: BucketRows,
  { buckets, params = {} }: { readonly buckets: readonly BucketKey[]; readonly params?: QueryParams },
): Promise<void> {
  if (buckets.length === 0) {
    return;
  }
  await database.insertSelected(
    `INSERT INTO ${table} (${keys}, ${columns}, Version, IsDeleted)
     WITH (
       SELECT greatest(toUInt64(toUnixTimestamp64Milli(now64(3))), max(Version) + 1) FROM ${table}
       WHERE Bucket BETWEEN fromUnixTimestamp64Milli({first:Int64}) AND fromUnixTimestamp64Milli({last:Int64})) AS Next
     SELECT ${keys}, ${sums}, Next, ${isEmpty}
     FROM (
       ${rows}
       UNION ALL
       SELECT ${keys}, ${empty} FROM ${table} FINAL WHERE ${isAsked('Bucket')})
     GROUP BY ${keys}`,
    { ...params, ...askBuckets(buckets) },
  );
}

/** Tables whose rows are computed again and again. */
const SUM_TABLES = ['score_hours', 'score_days', 'decision_hours', 'run_hours'];

/** Size below which a month is merged, bytes: that takes some seconds at most. */
const MERGED_BELOW = 256 * MIB;

/** Merges each month of the sums into one part, so that a read finds one version of a row. The usual merges leave two or three. */
export async function mergeSums(database: Database): Promise<void> {
  const months = await database.rows<{ table: string; month: string }>(
    `SELECT table, partition_id AS month FROM system.parts
     WHERE active AND database = currentDatabase() AND table IN {tables:Array(String)}
     GROUP BY table, month HAVING count() > 1 AND sum(bytes_on_disk) < ${MERGED_BELOW}`,
    { tables: SUM_TABLES },
  );
  for (const { table, month } of months) {
    await database.command(`OPTIMIZE TABLE ${table} PARTITION ID '${month}' FINAL`);
  }
}

/** Name of the progress of scores. */
const PROGRESS = 'scores';

/** Creates the store of the computation of aggregates. */
export function createAggregateStore(database: Database, nowMs: () => Promise<number>): AggregateStore {
  const progress = createProgress(database, PROGRESS);
  return {
    nowMs,
    doneUntil: progress.doneUntil,
    markDone: async (untilMs) => {
      await recordSeenVersions(database);
      await progress.markDone(untilMs);
    },
    touchedSince: (sinceMs) => listHours(database, TOUCHED, { since: Math.max(0, Math.trunc(sinceMs)) }),
    allHours: () => listHours(database, ALL_HOURS),
    compute: async (hours) => {
      await replaceBuckets(database, HOURS, {
        buckets: hours.map(({ tenant, hourMs }) => [tenant, hourMs]),
      });
      const days = new Map(
        hours.map(({ tenant, hourMs }) => {
          const dayMs = Math.floor(hourMs / DAY_MS) * DAY_MS;
          return [JSON.stringify([tenant, dayMs]), [tenant, dayMs] as const];
        }),
      );
      await replaceBuckets(database, DAYS, { buckets: [...days.values()] });
    },
  };
}

const ALL_HOURS = `
  SELECT Tenant, ${hourOf('TraceTimestamp')} AS Hour, count() AS HourRows FROM scores GROUP BY Tenant, Hour
  UNION ALL SELECT Tenant, Bucket, 0 FROM score_hours GROUP BY Tenant, Bucket`;

const WRITTEN = 'WrittenAt >= fromUnixTimestamp64Milli({since:Int64})';

const WRITTEN_HOURS = `
  SELECT Tenant, ${hourOf('TraceTimestamp')} AS Hour, count() AS HourRows FROM scores
  WHERE ${WRITTEN} GROUP BY Tenant, Hour
  UNION ALL SELECT Tenant, Bucket, 0 FROM aggregate_touches WHERE ${WRITTEN} GROUP BY Tenant, Bucket`;

/** Score rows that may have replaced a row of another time: re-scores, and rows that somebody posts again. */
const REPLACING = `FROM scores WHERE ${WRITTEN} AND (Revision > 1 OR Source NOT IN ('live', 'backfill'))`;

/** Hours of written scores, and former hours of scores: their arrivals, which are all read, still have the times of the replaced rows. */
const TOUCHED = `${WRITTEN_HOURS}
  UNION ALL SELECT Tenant, ${hourOf('TraceTimestamp')}, 0 FROM score_arrivals
  WHERE (SELECT count() ${REPLACING}) > 0 AND ScoreId IN (SELECT ScoreId ${REPLACING}) GROUP BY ALL`;

/** Sums and histogram of scores: S, W, W2, T, T2 and the histogram H. */
const SUMS = {
  keys: KEY_COLUMNS,
  columns: SUM_COLUMNS,
  empty: '0, 0, 0, 0, 0, (emptyArrayInt32(), emptyArrayUInt64(), emptyArrayFloat64())',
  sums: 'sum(S), sum(W), sum(W2), sum(T), sum(T2), (sumMap(H.1, H.2, H.3) AS M).1, M.2, M.3',
  isEmpty: 'sum(S) = 0',
};

const OF_HOURS = `TraceTimestamp >= fromUnixTimestamp64Milli({first:Int64})
        AND TraceTimestamp < fromUnixTimestamp64Milli({last:Int64} + ${HOUR_MS})`;

/**
 * Keys of the scores that have, or had, a run in these hours: FINAL reads no other ones. All versions of a score have one day and id, which
 * are in the key of the table.
 */
const OF_IDS = `(Day, ScoreId) IN (SELECT Day, ScoreId FROM scores WHERE ${OF_HOURS})`;

const IS_RANGED = 'ifNull(ScoreMax > ScoreMin, false)';

const FACETS = Object.values(FACET_COLUMNS).join(', ');

/**
 * Returns SQL for the rows of the asked hours, from scores that meet a condition: one row for each trace and row of the aggregates. Scores of
 * one trace in one row of the aggregates are one observation: their weights are added before they are squared.
 */
export function buildTraceRows(condition: string): string {
  // An alias is planned again wherever it is used: the inner query names what the outer one uses several times.
  return `
  SELECT Tenant, Scorer, fromUnixTimestamp64Milli(HourMs, 'UTC') AS Bucket, Source, Stratum, ${FACETS}, Low AS ScoreMin, High AS ScoreMax,
    Direction, IsWeighted, count() AS S, sum(Share) AS W, W * W AS W2, sum(Share * Meant) AS T, sum(Share * Meant * Meant) AS T2,
    sumMap(${BINS}, ${BIN_COUNTS}, ${BIN_WEIGHTS}) AS H
  FROM (
    SELECT Tenant, Scorer, Source, Stratum, ${FACETS}, Score, ifNull(FirstScore, Score) AS First, ${MEANT} AS Meant,
      ${hourMsOf('TraceTimestamp')} AS HourMs, if(TraceId = '', TargetId, TraceId) AS Unit, if(Rung = 2, ifNull(RungProbability, 1), 1) AS Asked,
      if(${IS_RANGED}, assumeNotNull(ScoreMin), 0) AS Low, if(${IS_RANGED}, assumeNotNull(ScoreMax), 0) AS High,
      toInt8(multiIf(${IS_LABELLED}, ${LABELLED}, HigherIsBetter IS NULL, 0, HigherIsBetter, 1, -1)) AS Direction,
      toUInt8(Weight IS NOT NULL) AS IsWeighted, ifNull(Weight, 1) AS Share
    FROM scores FINAL
    WHERE ${OF_HOURS} AND ${OF_IDS} AND (Tenant, HourMs) IN ${ASKED_BUCKETS} AND isFinite(Score) AND ${condition})
  GROUP BY Tenant, Scorer, HourMs, Source, Stratum, ${FACETS}, Low, High, Direction, IsWeighted, Unit`;
}

const HOURS: BucketRows = {
  ...SUMS,
  table: 'score_hours',
  rows: `
  SELECT ${KEY_COLUMNS}, sum(S) AS S, sum(W) AS W, sum(W2) AS W2, sum(T) AS T, sum(T2) AS T2, sumMap(H.1, H.2, H.3) AS H
  FROM (${buildTraceRows('1')})
  GROUP BY ${KEY_COLUMNS}`,
};

const DAYS: BucketRows = {
  ...SUMS,
  table: 'score_days',
  rows: `
  SELECT Tenant, Scorer, Day AS Bucket, Source, Stratum, ${Object.values(FACET_COLUMNS).join(', ')}, ScoreMin, ScoreMax,
    Direction, IsWeighted, sum(Scores) AS S, sum(Weight) AS W, sum(SquaredWeight) AS W2, sum(Total) AS T,
    sum(SquaredTotal) AS T2, sumMap(Bins, BinScores, BinWeights) AS H
  FROM (
    SELECT *, fromUnixTimestamp64Milli(
      toInt64(floor(toUnixTimestamp64Milli(Bucket) / ${DAY_MS})) * ${DAY_MS}, 'UTC') AS Day
    FROM score_hours FINAL
    WHERE Bucket >= fromUnixTimestamp64Milli({first:Int64})
      AND Bucket < fromUnixTimestamp64Milli({last:Int64} + ${DAY_MS}) AND ${isAsked('Day')})
  GROUP BY ALL`,
};

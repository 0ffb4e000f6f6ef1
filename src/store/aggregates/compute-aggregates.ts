import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import type { AggregateStore, TouchedHour } from '../contracts/aggregates/aggregates.ts';
import type { Database } from '../database.ts';
import { BIN, FACET_COLUMNS, hourOf, KEY_COLUMNS, SUM_COLUMNS } from './aggregate-columns.ts';
import { createProgress, isAsked, listHours, replaceBuckets, type BucketRows } from './bucket-rows.ts';

/** Name of the progress of scores. */
const PROGRESS = 'scores';

/** Creates the store of the computation of aggregates. */
export function createAggregateStore(database: Database, nowMs: () => Promise<number>): AggregateStore {
  return {
    nowMs,
    ...createProgress(database, PROGRESS),
    touchedSince: (sinceMs) => listTouched(database, sinceMs),
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

/** Former hours of scores: their arrivals still have the times that the replaced rows had. */
const FORMER_HOURS = `
  UNION ALL SELECT Tenant, ${hourOf('TraceTimestamp')}, 0 FROM score_arrivals
  WHERE ScoreId IN (SELECT ScoreId ${REPLACING}) GROUP BY ALL`;

async function listTouched(database: Database, sinceMs: number): Promise<TouchedHour[]> {
  const params = { since: Math.max(0, Math.trunc(sinceMs)) };
  const [row] = await database.rows<{ replacing: string }>(
    `SELECT count() AS replacing ${REPLACING}`,
    params,
  );
  const hasReplacing = row !== undefined && row.replacing !== '0';
  return listHours(database, hasReplacing ? WRITTEN_HOURS + FORMER_HOURS : WRITTEN_HOURS, params);
}

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

/** The days of the scores are in their key, so FINAL reads no other ones. All versions of a score have one day. */
const OF_DAYS = `Day >= (SELECT ifNull(minOrNull(Day), toDate('2149-06-06')) FROM scores WHERE ${OF_HOURS})`;

const HAS_RANGE = 'ifNull(ScoreMax > ScoreMin, false)';

/**
 * Returns SQL for the rows of the asked hours, from scores that meet a condition. Scores of one trace in one row of the aggregates are
 * one observation: their weights are added before they are squared.
 */
export function hourRows(condition: string): string {
  return `
  SELECT ${KEY_COLUMNS}, sum(UnitS) AS S, sum(UnitW) AS W, sum(UnitW * UnitW) AS W2, sum(UnitT) AS T, sum(UnitT2) AS T2,
    sumMap(UnitH.1, UnitH.2, UnitH.3) AS H
  FROM (
    SELECT Tenant, Scorer, Hour AS Bucket, Source, Stratum, ${Object.values(FACET_COLUMNS).join(', ')},
      Low AS ScoreMin, High AS ScoreMax, Direction, IsWeighted,
      count() AS UnitS, sum(Share) AS UnitW, sum(Share * Score) AS UnitT, sum(Share * Score * Score) AS UnitT2,
      sumMap([Bin], [toUInt64(1)], [Share]) AS UnitH
    FROM (
      SELECT Tenant, Scorer, Source, Stratum, ${Object.values(FACET_COLUMNS).join(', ')}, Score,
        ${hourOf('TraceTimestamp')} AS Hour, if(TraceId = '', TargetId, TraceId) AS Unit,
        if(${HAS_RANGE}, assumeNotNull(ScoreMin), 0) AS Low, if(${HAS_RANGE}, assumeNotNull(ScoreMax), 0) AS High,
        toInt8(multiIf(HigherIsBetter IS NULL, 0, HigherIsBetter, 1, -1)) AS Direction,
        toUInt8(Weight IS NOT NULL) AS IsWeighted, ifNull(Weight, 1) AS Share, ${BIN} AS Bin
      FROM scores FINAL
      WHERE ${OF_HOURS} AND ${OF_DAYS} AND ${isAsked('Hour')}
        AND isFinite(Score) AND ${condition})
    GROUP BY ${KEY_COLUMNS}, Unit)
  GROUP BY ${KEY_COLUMNS}`;
}

const HOURS: BucketRows = { ...SUMS, table: 'score_hours', rows: hourRows('1') };

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

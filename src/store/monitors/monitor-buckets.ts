import { WHOLE_RULE } from '../../domain/decision.ts';
import type { SeriesFacets, SplitFacet } from '../../domain/series-facets.ts';
import type { BucketRange, SeriesBucket } from '../../monitors/monitor-store.ts';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import type { Database } from '../database.ts';
import { meanStep, REPEAT_WINDOW_MS, STANDING, STEP, UNIT } from './folded-scores-sql.ts';
import {
  fromSeriesValues,
  IS_SERIES,
  SERIES_COLUMNS,
  seriesColumnsBy,
  seriesParams,
  type SeriesValues,
} from './series-columns.ts';

const BUCKET = 'intDiv(toUnixTimestamp64Milli(WrittenAt), {interval:Int64}) * {interval:Int64}';
const WITHIN = `WrittenAt >= fromUnixTimestamp64Milli({from:Int64})
  AND WrittenAt < fromUnixTimestamp64Milli({to:Int64})`;

/**
 * Counts units (`UNIT`) of `score_arrivals` by the bucket in which the store wrote them. A row with a stamp within a bucket is
 * visible 45 s after its end, independent of other clocks, so that every later query gives the same result. A repeat is
 * detected by the row before it.
 */
function scoresBy(by: readonly SplitFacet[]): string {
  return `
  SELECT BucketMs, ${SERIES_COLUMNS},
    sumMapIf([MeanStep], [toUInt32(1)], Folded > 0) AS Histogram,
    sum(UnitRefused) AS Refused, sum(UnitRepeated) AS Repeated, sum(UnitRescored) AS Rescored, sum(UnitLate) AS Late,
    sum(UnitNotUniform) AS NotUniform, sum(UnitNotLive) AS NotLive
  FROM (
    SELECT BucketMs, ${SERIES_COLUMNS}, Unit,
      countIf(Standing = 'folded') AS Folded, ${meanStep('Step', "Standing = 'folded'")} AS MeanStep,
      countIf(Standing = 'refused') AS UnitRefused, countIf(Standing = 'repeated') AS UnitRepeated,
      countIf(Standing = 'rescored') AS UnitRescored, countIf(Standing = 'late') AS UnitLate,
      countIf(Standing = 'not_uniform') AS UnitNotUniform, countIf(Standing = 'not_live') AS UnitNotLive
    FROM (
      SELECT ${seriesColumnsBy(by)}, ${BUCKET} AS BucketMs, ${UNIT} AS Unit,
        ${STEP} AS Step,
        lagInFrame(toNullable(WrittenAt)) OVER (
          PARTITION BY ScoreId, Revision, Source ORDER BY WrittenAt
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS Earlier,
        if(ifNull(dateDiff('millisecond', Earlier, WrittenAt) <= ${REPEAT_WINDOW_MS}, false), 'repeated', ${STANDING}) AS Standing
      FROM score_arrivals
      WHERE ${WITHIN} OR (WrittenAt >= fromUnixTimestamp64Milli({from:Int64} - ${REPEAT_WINDOW_MS})
        AND WrittenAt < fromUnixTimestamp64Milli({from:Int64})
        AND ScoreId IN (SELECT ScoreId FROM score_arrivals WHERE ${WITHIN})))
    WHERE BucketMs >= {from:Int64}
    GROUP BY BucketMs, ${SERIES_COLUMNS}, Unit)
  GROUP BY BucketMs, ${SERIES_COLUMNS}`;
}

/** Condition for the rows of `decision_arrivals` that say how a first attempt on a uniformly sampled target ended. */
export const IS_OUTCOME = `Status IN ('scored', 'failed', 'deferred') AND Scorer != '${WHOLE_RULE}' AND Stratum = 'uniform'
  AND Revision <= 1 AND Reason != 'in_progress'`;

/**
 * Counts the outcomes of one target for each trace or session and rule: outcomes of one trace depend on each other. The choice by a
 * hash does not depend on the outcome.
 */
const OUTCOMES = `
  SELECT BucketMs, ${SERIES_COLUMNS},
    countIf(has(Ends, (Chosen, 'scored'))) AS Scored,
    countIf(has(Ends, (Chosen, 'failed'))) AS Failed,
    countIf(has(Ends, (Chosen, 'deferred'))) AS Deferred
  FROM (
    SELECT ${BUCKET} AS BucketMs, ${seriesColumnsBy([])},
      min(cityHash64(TargetId)) AS Chosen, groupUniqArray((cityHash64(TargetId), toString(Status))) AS Ends
    FROM decision_arrivals
    WHERE ${WITHIN} AND ${IS_OUTCOME}
    GROUP BY BucketMs, ${SERIES_COLUMNS}, if(TraceId = '', TargetId, TraceId), Rule)
  GROUP BY BucketMs, ${SERIES_COLUMNS}`;

const INTO_BUCKETS = `
  INSERT INTO monitor_buckets (IntervalMs, Bucket, ${SERIES_COLUMNS}, Values, Counts, Scored, Failed, Deferred,
    Refused, Repeated, Rescored, Late, NotUniform, NotLive)`;

const CLOSE = `${INTO_BUCKETS}
  SELECT {interval:UInt32}, fromUnixTimestamp64Milli(BucketMs), ${SERIES_COLUMNS},
    sumMap(Histogram.1, Histogram.2).1, sumMap(Histogram.1, Histogram.2).2, sum(Scored), sum(Failed), sum(Deferred),
    sum(Refused), sum(Repeated), sum(Rescored), sum(Late), sum(NotUniform), sum(NotLive)
  FROM (
    SELECT BucketMs, ${SERIES_COLUMNS}, Histogram, 0 AS Scored, 0 AS Failed, 0 AS Deferred,
      Refused, Repeated, Rescored, Late, NotUniform, NotLive
    FROM (${scoresBy([])})
    UNION ALL
    SELECT BucketMs, ${SERIES_COLUMNS}, ([], []) AS Histogram, Scored, Failed, Deferred, 0, 0, 0, 0, 0, 0
    FROM (${OUTCOMES}))
  GROUP BY BucketMs, ${SERIES_COLUMNS}`;

/** Outcomes have no model and no version. Omitted scores are counted once, in the buckets without a split. */
function closeBy(by: readonly SplitFacet[]): string {
  return `${INTO_BUCKETS}
  SELECT {interval:UInt32}, fromUnixTimestamp64Milli(BucketMs), ${SERIES_COLUMNS}, Histogram.1, Histogram.2,
    0, 0, 0, 0, 0, 0, 0, 0, 0
  FROM (${scoresBy(by)})
  WHERE notEmpty(Histogram.1)`;
}

/**
 * Stores the scores and outcomes of all series in a range of buckets, with the given split: one statement, within the
 * store.
 */
export async function closeBuckets(
  database: Database,
  { intervalMs, fromMs, toMs }: BucketRange,
  by: readonly SplitFacet[],
): Promise<void> {
  const statement = by.length === 0 ? CLOSE : closeBy(by);
  await database.insertSelected(statement, { interval: intervalMs, from: fromMs, to: toMs });
}

/** Reads stored buckets in order of time, in batches. */
export async function* readBuckets(
  database: Database,
  { intervalMs, fromMs, toMs }: BucketRange,
  series?: SeriesFacets,
): AsyncGenerator<SeriesBucket[]> {
  const batches = database.stream(
    `SELECT toUnixTimestamp64Milli(Bucket), ${SERIES_COLUMNS}, Values, Counts, Scored, Failed, Deferred,
       Refused, Repeated, Rescored, Late, NotUniform, NotLive
     FROM monitor_buckets FINAL
     WHERE IntervalMs = {interval:UInt32} AND Bucket >= fromUnixTimestamp64Milli({from:Int64})
       AND Bucket < fromUnixTimestamp64Milli({to:Int64}) AND ${series === undefined ? '1' : IS_SERIES}
     ORDER BY Bucket, ${SERIES_COLUMNS}`,
    {
      interval: intervalMs,
      from: fromMs,
      to: toMs,
      ...(series === undefined ? {} : seriesParams(series)),
    },
  );
  for await (const batch of batches) {
    yield batch.map(({ columns }) => fromColumns(columns as BucketColumns));
  }
}

type BucketColumns = [
  bucketMs: string,
  ...series: SeriesValues,
  values: number[],
  counts: number[],
  ...outcomes: [scored: number, failed: number, deferred: number],
  ...aside: [
    refused: number,
    repeated: number,
    rescored: number,
    late: number,
    notUniform: number,
    notLive: number,
  ],
];

function fromColumns(columns: BucketColumns): SeriesBucket {
  const [bucketMs, tenant, scorer, fingerprint, agent, environment, split, values, counts, ...rest] = columns;
  const [scored, failed, deferred, refused, repeated, rescored, late, notUniform, notLive] = rest;
  return {
    series: fromSeriesValues([tenant, scorer, fingerprint, agent, environment, split]),
    bucket: {
      startMs: Number(bucketMs),
      scores: { values: values.map((step) => step / SCORE_STEPS), counts },
      outcomes: { scored, failed, deferred },
    },
    aside: { refused, repeated, rescored, late, notUniform, notLive },
  };
}

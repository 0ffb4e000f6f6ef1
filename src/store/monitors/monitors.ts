import { DAY_MS } from '../../domain/durations.ts';
import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { AlertTrace } from '../../monitors/alert-event.ts';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import {
  type Checkpoint,
  type Explanation,
  MONITOR_DUTY,
  type MonitorStore,
  type ProcessRun,
} from '../../monitors/monitor-store.ts';
import { segmentShares, type SegmentSums } from '../../monitors/statistics/segment-shares.ts';
import type { AlertStore } from '../contracts/monitors.ts';
import type { Database } from '../database.ts';
import { fromMillis, toDateTime } from '../values.ts';
import { markDoneUntil, readDoneUntil } from '../tables/progress.ts';
import { DIRECTED, STANDING, STEP } from './folded-scores-sql.ts';
import { closeBuckets, IS_OUTCOME, readBuckets } from './monitor-buckets.ts';
import {
  fromSeriesRow,
  SERIES_COLUMNS,
  seriesCondition,
  seriesParams,
  type SeriesRow,
  toSeriesRow,
} from './series-columns.ts';

/** Creates the store of monitors: buckets, states and events in tables of their own. */
export function createMonitorStore(
  database: Database,
  deps: { readonly alerts: AlertStore; readonly nowMs: () => Promise<number> },
): MonitorStore {
  return {
    nowMs: deps.nowMs,
    alerts: deps.alerts,
    firstArrivalMs: () =>
      readMoment(
        database,
        `SELECT toUnixTimestamp64Milli(minOrNull(First)) AS atMs FROM (
           SELECT minOrNull(WrittenAt) AS First FROM score_arrivals
           UNION ALL SELECT minOrNull(WrittenAt) FROM decision_arrivals WHERE ${IS_OUTCOME})`,
      ),
    firstBucketMs: (intervalMs) =>
      readMoment(
        database,
        `SELECT toUnixTimestamp64Milli(minOrNull(Bucket)) AS atMs FROM monitor_buckets
         WHERE IntervalMs = {intervalMs:UInt32}`,
        { intervalMs },
      ),
    runs: () => readRuns(database),
    progress: (intervalMs) => readDoneUntil(database, 'monitor', String(intervalMs)),
    markProgress: (intervalMs, bucketMs) => markDoneUntil(database, 'monitor', String(intervalMs), bucketMs),
    close: (range, by) => closeBuckets(database, range, by),
    buckets: (range, series) => readBuckets(database, range, series),
    checkpoint: (ruleKey) => readCheckpoint(database, ruleKey),
    writeCheckpoint: (ruleKey, checkpoint) => writeCheckpoint(database, ruleKey, checkpoint),
    writeStatus: (statuses) => writeStatus(database, statuses),
    explain: (series, fromMs, toMs) => explainSeries(database, series, fromMs, toMs),
    countLate: (series, fromMs, toMs) => countLateScores(database, series, fromMs, toMs),
  };
}

async function readMoment(
  database: Database,
  sql: string,
  params: Record<string, unknown> = {},
): Promise<number | null> {
  const [row] = await database.rows<{ atMs: string | null }>(sql, params);
  return fromMillis(row?.atMs ?? null);
}

/** Maximum number of states in one insert. The state of a detector that learns has some kilobytes. */
const MAX_ROWS = 500;

const NO_SERIES: SeriesFacets = { tenant: '', scorer: '', fingerprint: '', agent: '', environment: '' };

/** Reads the first and the last beat of each process that could evaluate monitors. */
async function readRuns(database: Database): Promise<ProcessRun[]> {
  const rows = await database.rows<Record<keyof ProcessRun, string>>(
    `SELECT toUnixTimestamp64Milli(min(JoinedAt)) AS fromMs, toUnixTimestamp64Milli(max(BeatAt)) AS toMs
     FROM members WHERE Duty = {duty:String} GROUP BY Member ORDER BY fromMs`,
    { duty: MONITOR_DUTY },
  );
  return rows.map(({ fromMs, toMs }) => ({ fromMs: Number(fromMs), toMs: Number(toMs) }));
}

const IS_CHECKPOINT = "RuleKey = {ruleKey:String} AND Kind = 'checkpoint'";

/**
 * Reads the latest complete checkpoint of a rule. A checkpoint is complete when its last row, the row without a series,
 * exists.
 */
async function readCheckpoint(database: Database, ruleKey: string): Promise<Checkpoint | null> {
  const rows = await database.rows<SeriesRow & { State: string; BucketMs: string }>(
    `SELECT ${SERIES_COLUMNS}, State, toUnixTimestamp64Milli(Bucket) AS BucketMs FROM monitor_states FINAL
     WHERE ${IS_CHECKPOINT} AND Checkpoint = (SELECT max(Checkpoint) FROM monitor_states WHERE ${IS_CHECKPOINT} AND Scorer = '')`,
    { ruleKey },
  );
  const [first] = rows;
  if (first === undefined) {
    return null;
  }
  return {
    bucketMs: Number(first.BucketMs),
    states: rows
      .filter(({ Scorer }) => Scorer !== '')
      .map((row) => ({ series: fromSeriesRow(row), state: row.State })),
  };
}

async function writeCheckpoint(
  database: Database,
  ruleKey: string,
  { bucketMs, states }: Checkpoint,
): Promise<void> {
  const buildRow = (series: SeriesFacets, state: string) => ({
    RuleKey: ruleKey,
    Kind: 'checkpoint',
    Checkpoint: toDateTime(bucketMs),
    ...toSeriesRow(series),
    Bucket: toDateTime(bucketMs),
    State: state,
  });
  for (let index = 0; index < states.length; index += MAX_ROWS) {
    await database.insertRows(
      'monitor_states',
      states.slice(index, index + MAX_ROWS).map(({ series, state }) => buildRow(series, state)),
    );
  }
  await database.insertRows('monitor_states', [buildRow(NO_SERIES, '')]);
}

async function writeStatus(database: Database, statuses: readonly MonitorStatus[]): Promise<void> {
  await database.insertRows(
    'monitor_states',
    statuses.map((status) => ({
      RuleKey: status.ruleKey,
      Kind: 'status',
      ...toSeriesRow(status.series),
      Bucket: toDateTime(status.bucketMs),
      State: JSON.stringify(status),
    })),
  );
}

/** Limit of traces shown as evidence of an alert. */
const MAX_TRACES = 5;

/** Time before a change with which the traffic since then is compared, milliseconds. */
const BEFORE_MS = 7 * DAY_MS;

const WITHIN = `WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND WrittenAt < fromUnixTimestamp64Milli({to:Int64})`;

/** Counts the scores of a series in a range of time that came too late to be folded, each once. */
async function countLateScores(
  database: Database,
  series: SeriesFacets,
  fromMs: number,
  toMs: number,
): Promise<number> {
  const [row] = await database.rows<{ late: number }>(
    `SELECT toUInt32(uniqExact(ScoreId)) AS late FROM score_arrivals
     WHERE ${WITHIN} AND ${seriesCondition(series)} AND ${STANDING} = 'late'`,
    { ...seriesParams(series), from: fromMs, to: toMs },
  );
  return row?.late ?? 0;
}

/**
 * Reads the worst traces of a series in a range of time (none for sessions), and the parts of the traffic that moved its mean. Sums are of
 * whole steps: sums of fractions depend on the order in which threads add them, and every query must give the same result.
 */
async function explainSeries(
  database: Database,
  series: SeriesFacets,
  fromMs: number,
  toMs: number,
): Promise<Explanation> {
  const folded = `${seriesCondition(series)} AND ${STANDING} = 'folded'`;
  const params = { ...seriesParams(series), from: fromMs, to: toMs, earlier: fromMs - BEFORE_MS };
  const worst = database.rows<AlertTrace>(
    `SELECT TraceId AS traceId, toString(ScoreId) AS scoreId, ${DIRECTED} AS score
     FROM score_arrivals WHERE ${WITHIN} AND TraceId != '' AND ${folded}
     ORDER BY score, WrittenAt, ScoreId LIMIT 1 BY TraceId LIMIT ${MAX_TRACES}`,
    params,
  );
  const isAfter = 'WrittenAt >= fromUnixTimestamp64Milli({from:Int64})';
  const sums = database.rows<SegmentSums>(
    `SELECT part.1 AS dimension, part.2 AS value,
       toUInt32(countIf(${isAfter})) AS count, sumIf(${STEP}, ${isAfter}) / ${SCORE_STEPS} AS sum,
       toUInt32(countIf(NOT ${isAfter})) AS countBefore, sumIf(${STEP}, NOT ${isAfter}) / ${SCORE_STEPS} AS sumBefore
     FROM score_arrivals
     ARRAY JOIN [('model', toString(Model)), ('agent_version', toString(AgentVersion)),
       ('service_version', toString(ServiceVersion)), ('service', toString(ServiceName)), ('agent', toString(Agent))] AS part
     WHERE WrittenAt >= fromUnixTimestamp64Milli({earlier:Int64})
       AND WrittenAt < fromUnixTimestamp64Milli({to:Int64}) AND ${folded}
     GROUP BY dimension, value ORDER BY dimension, count DESC, value`,
    params,
  );
  const segments = await sums;
  const findLargest = (wanted: SegmentSums['dimension']): string =>
    segments.find(({ dimension, count }) => dimension === wanted && count > 0)?.value ?? '';
  return {
    worstTraces: await worst,
    segments: segmentShares(segments),
    serviceVersion: findLargest('service_version'),
    agentVersion: findLargest('agent_version'),
    meanBefore: meanBefore(segments.filter(({ dimension }) => dimension === 'agent')),
  };
}

/** Computes the mean of all parts of one dimension before the change; null without a score. */
function meanBefore(parts: readonly SegmentSums[]): number | null {
  const count = parts.reduce((sum, part) => sum + part.countBefore, 0);
  return count === 0 ? null : parts.reduce((sum, part) => sum + part.sumBefore, 0) / count;
}

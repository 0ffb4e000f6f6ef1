import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import {
  type Checkpoint,
  MONITOR_DUTY,
  type MonitorStore,
  type ProcessRun,
} from '../../monitors/monitor-store.ts';
import type { AlertStore } from '../monitors/alert-events.ts';
import { type Database, readValue } from '../database.ts';
import { type QueryParams, toDateTime } from '../values.ts';
import { markDoneUntil, readDoneUntil } from '../tables/progress.ts';
import { STANDING } from './folded-scores-sql.ts';
import { readAlertEvidence } from './alert-evidence.ts';
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
    explain: (series, fromMs, toMs) => readAlertEvidence(database, series, fromMs, toMs),
    hasAnchors: async ({ scorer, fingerprint }) => {
      const rows = await database.rows(
        `SELECT 1 FROM anchors WHERE Scorer = {scorer:String} AND Fingerprint = {fingerprint:String} AND First = 1 LIMIT 1`,
        { scorer, fingerprint },
      );
      return rows.length > 0;
    },
    countLate: (series, fromMs, toMs) => countLateScores(database, series, fromMs, toMs),
  };
}

async function readMoment(database: Database, sql: string, params?: QueryParams): Promise<number | null> {
  return (await readValue<number | null>(database, sql, params)) ?? null;
}

/** Maximum number of states in one insert. The state of a detector that learns has some kilobytes. */
const MAX_ROWS = 500;

const NO_SERIES: SeriesFacets = { tenant: '', scorer: '', fingerprint: '', agent: '', environment: '' };

/** Reads the first and the last beat of each process that could evaluate monitors. */
function readRuns(database: Database): Promise<ProcessRun[]> {
  return database.rows(
    `SELECT toUnixTimestamp64Milli(min(JoinedAt)) AS fromMs, toUnixTimestamp64Milli(max(BeatAt)) AS toMs
     FROM members WHERE Duty = {duty:String} GROUP BY Member ORDER BY fromMs`,
    { duty: MONITOR_DUTY },
  );
}

const IS_CHECKPOINT = "RuleKey = {ruleKey:String} AND Kind = 'checkpoint'";

/**
 * Reads the latest complete checkpoint of a rule. A checkpoint is complete when its last row, the row without a series,
 * exists.
 */
async function readCheckpoint(database: Database, ruleKey: string): Promise<Checkpoint | null> {
  const rows = await database.rows<SeriesRow & { State: string; BucketMs: number }>(
    `SELECT ${SERIES_COLUMNS}, State, toUnixTimestamp64Milli(Bucket) AS BucketMs FROM monitor_states FINAL
     WHERE ${IS_CHECKPOINT} AND Checkpoint = (SELECT max(Checkpoint) FROM monitor_states WHERE ${IS_CHECKPOINT} AND Scorer = '')`,
    { ruleKey },
  );
  const [first] = rows;
  if (first === undefined) {
    return null;
  }
  return {
    bucketMs: first.BucketMs,
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

const WITHIN = `WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND WrittenAt < fromUnixTimestamp64Milli({to:Int64})`;

/** Counts the scores of a series in a range of time that came too late to be folded, each once. */
async function countLateScores(
  database: Database,
  series: SeriesFacets,
  fromMs: number,
  toMs: number,
): Promise<number> {
  const sql = `SELECT toUInt32(uniqExact(ScoreId)) FROM score_arrivals
     WHERE ${WITHIN} AND ${seriesCondition(series)} AND ${STANDING} = 'late'`;
  return (await readValue(database, sql, { ...seriesParams(series), from: fromMs, to: toMs })) ?? 0;
}

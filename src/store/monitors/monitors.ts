import type { MonitorStore } from '../../monitors/monitor-store.ts';
import type { AlertStore } from '../contracts/monitors.ts';
import type { Database } from '../database.ts';
import { closeBuckets, IS_OUTCOME, readBuckets } from './monitor-buckets.ts';
import { countLateScores, explainSeries } from './monitor-evidence.ts';
import {
  readCheckpoint,
  readProgress,
  readRuns,
  writeCheckpoint,
  writeProgress,
  writeStatus,
} from './monitor-states.ts';
import { fromMillis } from '../values.ts';

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
    progress: (intervalMs) => readProgress(database, intervalMs),
    markProgress: (intervalMs, bucketMs) => writeProgress(database, intervalMs, bucketMs),
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

import type { SeriesFacets } from '../../domain/series-facets.ts';
import { type Checkpoint, MONITOR_DUTY, type ProcessRun } from '../../monitors/monitor-store.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import type { Database } from '../database.ts';
import { fromSeriesRow, SERIES_COLUMNS, type SeriesRow, toSeriesRow } from './series-columns.ts';
import { fromMillis, toDateTime } from '../values.ts';

/** Maximum number of states in one insert. The state of a detector that learns has some kilobytes. */
const MAX_ROWS = 500;

const NO_SERIES: SeriesFacets = { tenant: '', scorer: '', fingerprint: '', agent: '', environment: '' };

/** Reads the latest evaluated bucket; null before the first. */
export async function readProgress(database: Database, intervalMs: number): Promise<number | null> {
  const [row] = await database.rows<{ latest: string | null }>(
    'SELECT toUnixTimestamp64Milli(maxOrNull(Bucket)) AS latest FROM monitor_progress WHERE IntervalMs = {intervalMs:UInt32}',
    { intervalMs },
  );
  return fromMillis(row?.latest ?? null);
}

/** Reads the first and the last beat of each process that could evaluate monitors. */
export async function readRuns(database: Database): Promise<ProcessRun[]> {
  const rows = await database.rows<Record<keyof ProcessRun, string>>(
    `SELECT toUnixTimestamp64Milli(min(JoinedAt)) AS fromMs, toUnixTimestamp64Milli(max(BeatAt)) AS toMs
     FROM members WHERE Duty = {duty:String} GROUP BY Member ORDER BY fromMs`,
    { duty: MONITOR_DUTY },
  );
  return rows.map(({ fromMs, toMs }) => ({ fromMs: Number(fromMs), toMs: Number(toMs) }));
}

export async function writeProgress(database: Database, intervalMs: number, bucketMs: number): Promise<void> {
  await database.insertRows('monitor_progress', [{ IntervalMs: intervalMs, Bucket: toDateTime(bucketMs) }]);
}

/**
 * Reads the latest complete checkpoint of a rule. A checkpoint is complete when its last row, the row without a series,
 * exists.
 */
export async function readCheckpoint(database: Database, ruleKey: string): Promise<Checkpoint | null> {
  const rows = await database.rows<SeriesRow & { State: string; BucketMs: string }>(
    `SELECT ${SERIES_COLUMNS}, State, toUnixTimestamp64Milli(Bucket) AS BucketMs FROM monitor_checkpoints FINAL
     WHERE RuleKey = {ruleKey:String} AND Bucket = (
       SELECT max(Bucket) FROM monitor_checkpoints WHERE RuleKey = {ruleKey:String} AND Scorer = '')`,
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

export async function writeCheckpoint(
  database: Database,
  ruleKey: string,
  { bucketMs, states }: Checkpoint,
): Promise<void> {
  const buildRow = (series: SeriesFacets, state: string) => ({
    RuleKey: ruleKey,
    Bucket: toDateTime(bucketMs),
    ...toSeriesRow(series),
    State: state,
  });
  for (let index = 0; index < states.length; index += MAX_ROWS) {
    await database.insertRows(
      'monitor_checkpoints',
      states.slice(index, index + MAX_ROWS).map(({ series, state }) => buildRow(series, state)),
    );
  }
  await database.insertRows('monitor_checkpoints', [buildRow(NO_SERIES, '')]);
}

export async function writeStatus(database: Database, statuses: readonly MonitorStatus[]): Promise<void> {
  await database.insertRows(
    'monitor_status',
    statuses.map((status) => ({
      RuleKey: status.ruleKey,
      ...toSeriesRow(status.series),
      Bucket: toDateTime(status.bucketMs),
      Status: JSON.stringify(status),
    })),
  );
}

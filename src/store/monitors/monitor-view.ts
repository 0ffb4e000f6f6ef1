import { SPLIT_FACETS } from '../../domain/series-facets.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import type {
  LateScores,
  PastScore,
  RecentBuckets,
  ScorerSetAside,
  StatusFilter,
} from '../contracts/monitors.ts';
import type { ListPage } from '../contracts/lists.ts';
import { bind, type Database } from '../database.ts';
import { keyIdOf, readKeysetPage } from '../lists/keyset-page.ts';
import { DIRECTED, IS_OF_NEW_AGENT, meanStep, STEP, UNIT } from './folded-scores-sql.ts';
import {
  chosenCondition,
  fromSeriesRow,
  fromSeriesValues,
  IS_UNSPLIT,
  SERIES_COLUMNS,
  seriesColumnsBy,
  type SeriesRow,
  type SeriesValues,
} from './series-columns.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { HOUR_MS } from '../../domain/durations.ts';

export function createMonitorView(database: Database) {
  return {
    ...bind(database, { pastScores: readPastScores, statuses: readStatuses, lateScores: readLateScores }),
    /** Lists the same states as `statuses` by alert and series, which a change of a state does not move. */
    listStatuses: (filter: StatusFilter, page: ListPage) =>
      readKeysetPage(database, { ...statusSource(filter), order: 'id', toItem: fromStatusRow }, page),
    /** Counts the folded and omitted scores since a time, by scorer, from buckets of one length. */
    setAside: ({ intervalMs, sinceMs, tenant }: RecentBuckets) =>
      database.rows<ScorerSetAside>(
        `SELECT Scorer AS scorer, toUInt32(sum(arraySum(Counts))) AS folded, toUInt32(sum(Refused)) AS refused,
           toUInt32(sum(Repeated)) AS repeated, toUInt32(sum(Rescored)) AS rescored, toUInt32(sum(Late)) AS late,
           toUInt32(sum(NotUniform)) AS notUniform, toUInt32(sum(NotLive)) AS notLive
         FROM monitor_buckets FINAL
         WHERE IntervalMs = {intervalMs:UInt32} AND Bucket >= fromUnixTimestamp64Milli({sinceMs:Int64})
           AND ${IS_UNSPLIT}
           AND ${tenantCondition(tenant)}
         GROUP BY scorer ORDER BY scorer`,
        { intervalMs, sinceMs: Math.trunc(sinceMs), tenant },
      ),
  };
}

export type MonitorView = ReturnType<typeof createMonitorView>;

/** Counts the late scores of each series that has any, from buckets of one length. */
async function readLateScores(
  database: Database,
  { intervalMs, sinceMs, tenant }: RecentBuckets,
): Promise<LateScores[]> {
  const rows = await database.rows<SeriesRow & { scores: number; lastBucketMs: number }>(
    `SELECT ${SERIES_COLUMNS}, toUInt32(sum(Late)) AS scores, toUnixTimestamp64Milli(max(Bucket)) AS lastBucketMs
     FROM monitor_buckets FINAL
     WHERE IntervalMs = {intervalMs:UInt32} AND Bucket >= fromUnixTimestamp64Milli({sinceMs:Int64})
       AND ${IS_UNSPLIT} AND Late > 0 AND ${tenantCondition(tenant)}
     GROUP BY ${SERIES_COLUMNS}`,
    { intervalMs, sinceMs: Math.trunc(sinceMs), tenant },
  );
  return rows.map(({ scores, lastBucketMs, ...row }) => ({
    series: fromSeriesRow(row),
    scores,
    lastBucketMs,
  }));
}

/** Memory of the past scores of traces; further ones go to the disk of the store. */
const MAX_GROUP_BYTES = 256 * MIB;

/**
 * Reads current scores of live traffic and backfills whose runs began in a range of time: those of the uniform sample with a range.
 */
async function* readPastScores(
  database: Database,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): AsyncGenerator<PastScore[]> {
  const batches = database.stream(
    `SELECT min(AtMs), ${meanStep('Step', '1')}, ${SERIES_COLUMNS}
     FROM (
       SELECT toUnixTimestamp64Milli(toDateTime64(TraceTimestamp, 3, 'UTC')) AS AtMs, ${STEP} AS Step, ${UNIT} AS Unit,
         ${seriesColumnsBy(SPLIT_FACETS)}
       FROM scores FINAL
       WHERE NOT IsDeleted AND Source IN ('live', 'backfill') AND Stratum = 'uniform' AND ${DIRECTED} IS NOT NULL
         AND NOT ${IS_OF_NEW_AGENT}
         AND AtMs >= {from:Int64} AND AtMs < {to:Int64})
     GROUP BY ${SERIES_COLUMNS}, Unit
     SETTINGS max_bytes_before_external_group_by = ${MAX_GROUP_BYTES}`,
    { from: Math.trunc(fromMs), to: Math.trunc(toMs) },
  );
  for await (const batch of batches) {
    yield batch.map(({ columns }) => {
      const [atMs, step, ...series] = columns as PastScoreColumns;
      return { series: fromSeriesValues(series), atMs: Number(atMs), step };
    });
  }
}

type PastScoreColumns = [atMs: string, step: number, ...series: SeriesValues];

/**
 * Each state is written at least once an hour, and buckets of an hour are at most two hours late. A series without a write
 * for longer is no longer watched, provided that other series were written.
 */
const STALE_AFTER_MS = 3 * HOUR_MS;

/** Columns of the place of a state, which stays. */
const PLACE = keyIdOf(`JSONExtractString(State, 'alert'), ${SERIES_COLUMNS}, RuleKey`);

interface StatusRow {
  readonly State: string;
}

function fromStatusRow({ State }: StatusRow): MonitorStatus {
  return JSON.parse(State) as MonitorStatus;
}

/** Returns the statement of the states that rules have now. */
function statusSource({ tenant, sinceMs, ruleKeys, agent, environment }: StatusFilter) {
  const isChosen = chosenCondition({ agent, environment }, { agent: 'Agent', environment: 'Environment' });
  const sql = `SELECT State, 0 AS atMs, ${PLACE} AS keyId FROM (
       SELECT *, max(Bucket) OVER () AS Latest FROM monitor_states FINAL
       WHERE RuleKey IN {ruleKeys:Array(String)} AND Kind = 'status')
     WHERE Bucket >= subtractMilliseconds(Latest, ${STALE_AFTER_MS}) AND ${tenantCondition(tenant)} AND ${isChosen}
       AND ${sinceMs === undefined ? '1' : "JSONExtractInt(State, 'sinceMs') >= {sinceMs:Int64}"}`;
  return { sql, params: { ruleKeys, tenant, agent, environment, sinceMs: Math.trunc(sinceMs ?? 0) } };
}

/**
 * Reads the states of rules on their series: alerts first, then by alert and series. Includes rules of the last hour, each with its current
 * state.
 */
async function readStatuses(
  database: Database,
  filter: StatusFilter,
  limit: number,
): Promise<MonitorStatus[]> {
  const { sql, params } = statusSource(filter);
  const rows = await database.rows<StatusRow>(
    `SELECT State FROM (${sql})
     ORDER BY JSONExtractString(State, 'phase') IN ('firing', 'recovering') DESC, keyId
     LIMIT {limit:UInt32}`,
    { ...params, limit },
  );
  return rows.map(fromStatusRow);
}

function tenantCondition(tenant: string | undefined): string {
  return tenant === undefined ? '1' : 'Tenant = {tenant:String}';
}

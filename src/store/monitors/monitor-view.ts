import { SPLIT_FACETS } from '../../domain/series-facets.ts';
import type { MonitorStatus } from '../../monitors/monitor-status.ts';
import type { MonitorView, PastScore, ScorerSetAside, StatusQuery } from '../contracts/monitors.ts';
import type { Database } from '../database.ts';
import { DIRECTED, STEP } from './folded-scores-sql.ts';
import { fromSeriesValues, SERIES_COLUMNS, seriesColumnsBy, type SeriesValues } from './series-columns.ts';
import { HOUR_MS } from '../../domain/durations.ts';

/** Creates the view of monitors for people. */
export function createMonitorView(database: Database): MonitorView {
  return {
    pastScores: (range) => readPastScores(database, range),
    statuses: (query) => readStatuses(database, query),
    setAside: ({ intervalMs, sinceMs, tenant }) =>
      database.rows<ScorerSetAside>(
        `SELECT Scorer AS scorer, toUInt32(sum(arraySum(Counts))) AS folded, toUInt32(sum(Refused)) AS refused,
           toUInt32(sum(Repeated)) AS repeated, toUInt32(sum(Rescored)) AS rescored, toUInt32(sum(Late)) AS late,
           toUInt32(sum(NotUniform)) AS notUniform, toUInt32(sum(NotLive)) AS notLive
         FROM monitor_buckets FINAL
         WHERE IntervalMs = {intervalMs:UInt32} AND Bucket >= fromUnixTimestamp64Milli({sinceMs:Int64})
           AND empty(Split)
           AND ${tenantCondition(tenant)}
         GROUP BY scorer ORDER BY scorer`,
        { intervalMs, sinceMs: Math.trunc(sinceMs), tenant },
      ),
  };
}

async function* readPastScores(
  database: Database,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): AsyncGenerator<PastScore[]> {
  const batches = database.stream(
    `SELECT toUnixTimestamp64Milli(toDateTime64(TraceTimestamp, 3, 'UTC')) AS AtMs, ${STEP},
       ${seriesColumnsBy(SPLIT_FACETS)}
     FROM scores FINAL
     WHERE NOT IsDeleted AND Source IN ('live', 'backfill') AND Stratum = 'uniform' AND ${DIRECTED} IS NOT NULL
       AND AtMs >= {from:Int64} AND AtMs < {to:Int64}`,
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

async function readStatuses(database: Database, query: StatusQuery): Promise<MonitorStatus[]> {
  const rows = await database.rows<{ Status: string }>(
    `SELECT Status FROM (
       SELECT *, max(Bucket) OVER () AS Latest FROM monitor_status FINAL
       WHERE RuleKey IN {ruleKeys:Array(String)})
     WHERE Bucket >= subtractMilliseconds(Latest, ${STALE_AFTER_MS}) AND ${tenantCondition(query.tenant)}
     ORDER BY JSONExtractString(Status, 'phase') IN ('firing', 'recovering') DESC,
       JSONExtractString(Status, 'alert'), ${SERIES_COLUMNS}
     LIMIT {limit:UInt32} OFFSET {offset:UInt32}`,
    { ...query, offset: query.offset ?? 0 },
  );
  return rows.map(({ Status }) => JSON.parse(Status) as MonitorStatus);
}

function tenantCondition(tenant: string | undefined): string {
  return tenant === undefined ? '1' : 'Tenant = {tenant:String}';
}

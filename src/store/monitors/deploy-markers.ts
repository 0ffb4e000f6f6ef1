import type { DeployMarker, Deploy } from '../../domain/deploy-marker.ts';
import type { Listed, ListPage } from '../contracts/lists.ts';
import type { MarkerFilter } from '../contracts/monitors.ts';
import { bind, type Database } from '../database.ts';
import { keyIdOf, readKeysetPage } from '../lists/keyset-page.ts';
import { markerRows } from '../table-rows.ts';
import { type IntervalScores, SCORE_STEPS } from '../../monitors/bucket.ts';
import { computeSeriesKey } from '../../monitors/series-key.ts';
import type { VersionScores } from '../../monitors/version-compare.ts';
import { meanStep, STANDING, STEP, UNIT } from './folded-scores-sql.ts';
import { fromSeriesRow, SERIES_COLUMNS, seriesColumnsBy, type SeriesRow } from './series-columns.ts';
import { DAY_MS } from '../../domain/durations.ts';

/** Range before a deploy that gives the baseline, milliseconds. */
const BEFORE_MS = 14 * DAY_MS;

/** Hours of series that are read at most. */
const MAX_ROWS = 500_000;

const VERSION = 'Tenant, ServiceName, Agent, ServiceVersion, AgentVersion, Origin';

/**
 * SQL for the first uses of versions in the live scores since the last pass of the sums, and in the longest insert before it. A start
 * after the write, or long before it, is of a wrong clock.
 */
const SEEN = `
  SELECT Tenant, ServiceName, Agent, ServiceVersion, AgentVersion, 'seen' AS Origin,
    min(if(TraceTimestamp < WrittenAt AND TraceTimestamp > WrittenAt - toIntervalDay(400),
      toDateTime64(TraceTimestamp, 3, 'UTC'), WrittenAt)) AS FirstSeen
  FROM score_arrivals
  WHERE WrittenAt >= least(now64(3), (SELECT max(DoneUntil) FROM progress WHERE Kind = 'aggregate' AND Name = 'scores'))
      - toIntervalSecond(45)
    AND Source = 'live' AND (ServiceVersion != '' OR AgentVersion != '')
  GROUP BY ${VERSION}`;

/** Stores the first uses that are new, or earlier than the stored ones. */
export function recordSeenVersions(database: Database): Promise<void> {
  return database.insertSelected(
    `INSERT INTO deploy_markers (${VERSION}, FirstSeen)
     SELECT ${VERSION}, min(FirstSeen) FROM (
       SELECT ${VERSION}, FirstSeen, 1 AS IsNew FROM (${SEEN})
       UNION ALL SELECT ${VERSION}, FirstSeen, 0 FROM deploy_markers WHERE Origin = 'seen')
     GROUP BY ${VERSION} HAVING argMin(IsNew, (FirstSeen, IsNew)) = 1`,
    {},
  );
}

/**
 * Creates the store of versions: when each version of an agent or service was first seen in live scores (the passes of the sums store
 * those), or announced.
 */
export function createMarkerStore(database: Database) {
  return {
    record: (marker: DeployMarker) => markerRows.write(database, [marker]),
    ...bind(database, { list: listMarkers, scoresAround: readVersionScores }),
  };
}

export type MarkerStore = ReturnType<typeof createMarkerStore>;

/** Lists markers, newest first. The first version that was seen of an agent is included. */
function listMarkers(
  database: Database,
  { tenant, version, sinceMs = 0 }: MarkerFilter,
  page: ListPage,
): Promise<Listed<DeployMarker>> {
  const key = ['tenant', 'service', 'agent', 'serviceVersion', 'agentVersion', 'origin'];
  const names = key.join(', ');
  const sql = `SELECT ${markerRows.select(key)}, toUnixTimestamp64Milli(min(FirstSeen)) AS atMs, ${keyIdOf(names)} AS keyId
     FROM (SELECT ${VERSION}, FirstSeen FROM deploy_markers UNION ALL SELECT ${VERSION}, FirstSeen FROM (${SEEN}))
     WHERE ${tenant === undefined ? '1' : 'Tenant = {tenant:String}'}
       AND ${version === undefined ? '1' : '{version:String} IN (ServiceVersion, AgentVersion)'}
     GROUP BY ${names}
     HAVING atMs >= {sinceMs:Int64}`;
  const params = { tenant, version, sinceMs: Math.trunc(sinceMs) };
  const toItem = ({ keyId: _keyId, ...marker }: DeployMarker & { readonly keyId: string }): DeployMarker =>
    marker;
  return readKeysetPage(database, { sql, params, order: 'newest', toItem }, page);
}

interface HourRow extends SeriesRow {
  readonly HourMs: number;
  readonly IsAfter: number;
  readonly Steps: number[];
  readonly Counts: number[];
}

/** Reads the folded scores of every series of a service or of some of its agents, by the hour: all scores of the two weeks before a deploy, and the new version's scores since. */
async function readVersionScores(
  database: Database,
  { tenant, service, version, agents, atMs }: Deploy,
): Promise<VersionScores[]> {
  const rows = await database.rows<HourRow>(
    `SELECT ${SERIES_COLUMNS}, HourMs, IsAfter,
       sumMap([MeanStep], [toUInt32(1)]) AS Histogram, Histogram.1 AS Steps, arrayMap(n -> toUInt32(n), Histogram.2) AS Counts
     FROM (
       SELECT ${seriesColumnsBy([])},
         intDiv(toUnixTimestamp64Milli(WrittenAt), 3600000) * 3600000 AS HourMs,
         WrittenAt >= fromUnixTimestamp64Milli({at:Int64}) AS IsAfter,
         ${meanStep(STEP, '1')} AS MeanStep
       FROM score_arrivals
       WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND Tenant = {tenant:String}
         AND ServiceName = {service:String} AND ${STANDING} = 'folded'
         AND (empty({agents:Array(String)}) OR Agent IN {agents:Array(String)})
         AND (WrittenAt < fromUnixTimestamp64Milli({at:Int64}) OR {version:String} IN (ServiceVersion, AgentVersion))
       GROUP BY ${SERIES_COLUMNS}, HourMs, IsAfter, ${UNIT})
     GROUP BY ${SERIES_COLUMNS}, HourMs, IsAfter
     ORDER BY HourMs, ${SERIES_COLUMNS} LIMIT ${MAX_ROWS}`,
    { tenant, service, version, agents, at: atMs, from: atMs - BEFORE_MS },
  );
  return [...Map.groupBy(rows, (row) => computeSeriesKey(fromSeriesRow(row))).values()].flatMap((hours) => {
    const [first] = hours;
    return first === undefined
      ? []
      : [
          {
            series: fromSeriesRow(first),
            before: hours.filter(({ IsAfter }) => IsAfter === 0).map(buildHour),
            after: hours.filter(({ IsAfter }) => IsAfter === 1).map(buildHour),
          },
        ];
  });
}

function buildHour({ HourMs, Steps, Counts }: HourRow): IntervalScores {
  return {
    startMs: HourMs,
    scores: { values: Steps.map((step) => step / SCORE_STEPS), counts: Counts },
  };
}

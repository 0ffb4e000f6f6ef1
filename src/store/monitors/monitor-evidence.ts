import type { SeriesFacets } from '../../domain/series-facets.ts';
import type { AlertTrace } from '../../monitors/alert-event.ts';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import type { Explanation } from '../../monitors/monitor-store.ts';
import { segmentShares, type SegmentSums } from '../../monitors/statistics/segment-shares.ts';
import type { Database } from '../database.ts';
import { DIRECTED, STANDING, STEP } from './folded-scores-sql.ts';
import { seriesCondition, seriesParams } from './series-columns.ts';
import { DAY_MS } from '../../domain/durations.ts';

/** Limit of traces shown as evidence of an alert. */
const MAX_TRACES = 5;

/** Time before a change with which the traffic since then is compared, milliseconds. */
const BEFORE_MS = 7 * DAY_MS;

const WITHIN = `WrittenAt >= fromUnixTimestamp64Milli({from:Int64}) AND WrittenAt < fromUnixTimestamp64Milli({to:Int64})`;

/** Counts the scores of a series in a range of time that came too late to be folded, each once. */
export async function countLateScores(
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
export async function explainSeries(
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
  };
}

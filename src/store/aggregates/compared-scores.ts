import { AGGREGATE_FACETS, type AggregateFacet } from '../../domain/aggregate-facets.ts';
import type { ComparedScores, ComparedScoreStore } from '../contracts/aggregates/compared-scores.ts';
import type { Database, QueryParams } from '../database.ts';
import { FACET_COLUMNS } from './aggregate-columns.ts';

/** Creates the reads of scores that are compared. */
export function createComparedScoreStore(database: Database): ComparedScoreStore {
  return {
    pairs: async ({ left, right, limit, fromMs, toMs, tenant, ...chosen }) => {
      const facets = AGGREGATE_FACETS.filter((facet) => chosen[facet] !== undefined);
      const within = `TraceTimestamp >= fromUnixTimestamp64Milli({from:Int64})
        AND TraceTimestamp < fromUnixTimestamp64Milli({to:Int64}) ${tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}`;
      const rowsOf = (side: 'left' | 'right', { isHuman, fingerprint }: ComparedScores) =>
        `Scorer = {${side}:String} AND Source ${isHuman ? '=' : '!='} 'human' AND ${within}
         ${fingerprint === undefined ? '' : `AND Fingerprint = {${side}Fingerprint:String}`}`;
      const targetsOf = (side: 'left' | 'right', scores: ComparedScores, other: string) =>
        readTargets({ rows: rowsOf(side, scores), other, facets }, scores);
      // People's scores are few: all are read, and they limit what is read of the others.
      return database.rows(
        `SELECT a.TraceId AS traceId, a.Value AS left, b.Value AS right
         FROM (${targetsOf('left', left, rowsOf('right', right))}) AS a
         INNER JOIN (${targetsOf('right', right, rowsOf('left', left))}) AS b
           ON a.Tenant = b.Tenant AND a.Target = b.Target AND a.TargetId = b.TargetId
         ORDER BY abs(left - right) DESC, traceId LIMIT {limit:UInt32}`,
        {
          ...Object.fromEntries(facets.map((facet) => [facet, chosen[facet]])),
          tenant,
          from: Math.max(0, fromMs),
          to: Math.max(0, toMs),
          limit,
          left: left.scorer,
          right: right.scorer,
          leftFingerprint: left.fingerprint,
          rightFingerprint: right.fingerprint,
        } satisfies QueryParams,
      );
    },
  };
}

/** Elements of the tuple of a current row before those of the facets. */
const ROW_ELEMENTS = ['TraceId', 'IsDeleted', 'ScoredAt', 'Score', 'ScoreMin', 'ScoreMax', 'HigherIsBetter'];

/**
 * Returns SQL for the score of each target. The current row of each score id is found without FINAL: of scorers, only rows of targets
 * with the other side are grouped.
 */
function readTargets(
  {
    rows,
    other,
    facets,
  }: { readonly rows: string; readonly other: string; readonly facets: readonly AggregateFacet[] },
  { isHuman, higherIsBetter }: ComparedScores,
): string {
  const elements = [...ROW_ELEMENTS, ...facets.map((facet) => `toString(${FACET_COLUMNS[facet]})`)].join(
    ', ',
  );
  const isKept = facets
    .map((facet, index) => `AND has({${facet}:Array(String)}, Kept.${ROW_ELEMENTS.length + 1 + index})`)
    .join(' ');
  return `
  SELECT Tenant, Target, TargetId, any(Kept.1) AS TraceId, ${isHuman ? 'avg(Directed)' : 'argMax(Directed, Kept.3)'} AS Value
  FROM (
    SELECT Tenant, Target, TargetId, ScoreId, argMax((${elements}), (Version, WrittenAt)) AS Kept,
      least(1, greatest(0, if(ifNull(Kept.6 > Kept.5, false),
        (Kept.4 - assumeNotNull(Kept.5)) / (assumeNotNull(Kept.6) - assumeNotNull(Kept.5)), Kept.4))) AS Place,
      if(ifNull(Kept.7, ${higherIsBetter}), Place, 1 - Place) AS Directed
    FROM scores
    WHERE ${rows} ${isHuman ? '' : `AND (Tenant, TargetId) IN (SELECT Tenant, TargetId FROM scores WHERE ${other})`}
    GROUP BY Tenant, Target, TargetId, ScoreId)
  WHERE NOT Kept.2 ${isKept}
  GROUP BY Tenant, Target, TargetId`;
}

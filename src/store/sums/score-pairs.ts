import { AGGREGATE_FACETS, type AggregateFacet } from '../../domain/aggregate-facets.ts';
import { ROUNDING } from '../../domain/limits.ts';
import type { AggregateFilter, ComparedScores, ScorePair } from '../contracts/sums.ts';
import { bind, type Database } from '../database.ts';
import type { QueryParams } from '../values.ts';
import { FACET_COLUMNS } from './score-sums.ts';

/** Creates the reads of scores of the same targets. */
export function createComparedScoreStore(database: Database) {
  return bind(database, { pairs: readPairs });
}

export type ComparedScoreStore = ReturnType<typeof createComparedScoreStore>;

/** Returns the pairs of targets whose run began in the range. Scores without a range count as from 0 to 1. */
function readPairs(
  database: Database,
  {
    left,
    right,
    limit,
    fromMs,
    toMs,
    tenant,
    ...chosen
  }: Omit<AggregateFilter, 'source' | 'scorers'> & {
    readonly left: ComparedScores;
    readonly right: ComparedScores;
    readonly limit: number;
  },
): Promise<ScorePair[]> {
  const facets = AGGREGATE_FACETS.filter((facet) => chosen[facet] !== undefined);
  const within = `TraceTimestamp >= fromUnixTimestamp64Milli({from:Int64})
    AND TraceTimestamp < fromUnixTimestamp64Milli({to:Int64}) ${tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}`;
  const rowsOf = (side: 'left' | 'right', { isHuman, fingerprint }: ComparedScores) =>
    `Scorer = {${side}:String} AND Source ${isHuman ? '=' : '!='} 'human' AND ${within}
     ${fingerprint === undefined ? '' : `AND Fingerprint = {${side}Fingerprint:String}`}`;
  const leftRows = rowsOf('left', left);
  const rightRows = rowsOf('right', right);
  // People's scores are few: all of them are read, they limit which scores of the other side are read, and they name the traces.
  const limitOf = (other: ComparedScores, rows: string) =>
    other.isHuman ? `AND TargetId IN (SELECT TargetId FROM scores WHERE ${rows})` : '';
  const named = right.isHuman ? 'b' : 'a';
  return database.rows(
    `SELECT ${named}.TraceId AS traceId, a.Value AS left, b.Value AS right, a.Passes AS leftPasses, b.Passes AS rightPasses
     FROM (${readTargets(`${leftRows} ${limitOf(right, rightRows)}`, left, { facets, isNaming: named === 'a' })}) AS a
     INNER JOIN (${readTargets(`${rightRows} ${limitOf(left, leftRows)}`, right, { facets, isNaming: named === 'b' })}) AS b
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
}

/**
 * Returns SQL for the directed value of a score, 0 worst and 1 best, from SQL for its columns: `directScore` in the store. A score without
 * a range counts as from 0 to 1.
 */
function directedSql({
  score,
  low,
  high,
  isHigherBetter,
}: Record<'score' | 'low' | 'high' | 'isHigherBetter', string>): string {
  const place = `least(1, greatest(0, if(ifNull(${high} > ${low}, false),
      (${score} - assumeNotNull(${low})) / (assumeNotNull(${high}) - assumeNotNull(${low})), ${score})))`;
  return `if(${isHigherBetter}, ${place}, 1 - ${place})`;
}

/** SQL for the directed value of a row of `scores`. Without a direction, more is better. */
export const DIRECTED = directedSql({
  score: 'Score',
  low: 'ScoreMin',
  high: 'ScoreMax',
  isHigherBetter: 'ifNull(HigherIsBetter, true)',
});

/** Elements of the tuple of a current row; the elements of the facets follow them. */
const ROW_ELEMENTS = ['IsDeleted', 'ScoredAt', 'Score', 'ScoreMin', 'ScoreMax', 'HigherIsBetter'];

interface TargetTerms {
  readonly facets: readonly AggregateFacet[];
  /** Adds the trace. Its texts are a large part of the bytes that are read. */
  readonly isNaming: boolean;
}

/** Returns SQL for the score of each target. The current row of each score id is found without FINAL: few rows are grouped. */
function readTargets(
  rows: string,
  { isHuman, higherIsBetter, passLine }: ComparedScores,
  { facets, isNaming }: TargetTerms,
): string {
  const elements = [...ROW_ELEMENTS, ...facets.map((facet) => `toString(${FACET_COLUMNS[facet]})`)].join(
    ', ',
  );
  const isKept = facets
    .map((facet, index) => `AND has({${facet}:Array(String)}, Kept.${ROW_ELEMENTS.length + 1 + index})`)
    .join(' ');
  const numbers = isHuman
    ? 'avg(Directed) AS Value, toBool(avg(IsPassing) >= 0.5) AS Passes'
    : 'argMax(Directed, Kept.2) AS Value, toBool(argMax(IsPassing, Kept.2)) AS Passes';
  return `
  SELECT Tenant, Target, TargetId, any(Trace) AS TraceId, ${numbers}
  FROM (
    SELECT Tenant, Target, TargetId, ScoreId, ${isNaming ? 'any(TraceId)' : "''"} AS Trace,
      argMax((${elements}), (Version, WrittenAt)) AS Kept,
      ${directedSql({ score: 'Kept.3', low: 'Kept.4', high: 'Kept.5', isHigherBetter: `ifNull(Kept.6, ${higherIsBetter})` })} AS Directed,
      Directed >= ${passLine - ROUNDING} AS IsPassing
    FROM scores
    WHERE ${rows}
    GROUP BY Tenant, Target, TargetId, ScoreId)
  WHERE NOT Kept.1 ${isKept}
  GROUP BY Tenant, Target, TargetId`;
}

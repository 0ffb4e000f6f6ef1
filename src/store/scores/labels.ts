import type { TargetKind } from '../../domain/trace/agent-run.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { PART_LIMITS } from '../../domain/agreement/directed-score.ts';
import type {
  LabelledScorer,
  LabelledVersion,
  LabelQuery,
  LabelStore,
  LabelTarget,
} from '../contracts/labels/label-store.ts';
import type { Score } from '../../domain/score.ts';
import type { Database, QueryParams } from '../database.ts';
import { fromScoreRow, SCORE_SELECTION, type ScoreRow } from './score-row.ts';

/** Bands of a range. */
const BANDS = 5;

/** Most strata that are read: labels may be free text. */
const MAX_STRATA = 200;

type StoredTarget = Omit<LabelTarget, 'startMs' | 'target'> & {
  readonly target: string;
  readonly startMs: string;
  readonly left: string;
};

/** Creates the reads of labels. */
export function createLabelStore(database: Database): LabelStore {
  return {
    unlabelled: async ({ seed, perStratum, ...query }) => {
      const rows = await database.rows<StoredTarget>(READ_UNLABELLED(query), {
        ...buildParams(query),
        seed,
        perStratum,
        most: perStratum * MAX_STRATA,
      });
      return { left: Number(rows[0]?.left ?? 0), targets: rows.map(toTarget) };
    },
    countLabelled: async (query) => {
      const [row] = await database.rows<{ n: string }>(
        `SELECT uniqExact(Tenant, TargetId) AS n FROM scores FINAL
         PREWHERE ${LABELLED(query)} WHERE TraceTimestamp >= fromUnixTimestamp64Milli({since:Int64})`,
        buildParams(query),
      );
      return Number(row?.n ?? 0);
    },
    versions: async (query) => {
      const rows = await database.rows<StoredVersion>(READ_VERSIONS(query), rangeParams(query));
      return rows.map(({ scores, live, backfilled, higherIsBetter, ...row }) => ({
        ...row,
        scores: Number(scores),
        higherIsBetter: higherIsBetter ?? true,
        weights: spreadParts(live[0].length > 0 ? live : backfilled),
      }));
    },
    labelledVersions: async ({ sinceMs, limit }) => {
      const rows = await database.rows<
        Omit<LabelledVersion, 'higherIsBetter'> & { readonly higherIsBetter: boolean | null }
      >(READ_LABELLED_VERSIONS, { ...sinceParams(sinceMs), limit });
      return rows.map((row) => ({ ...row, higherIsBetter: row.higherIsBetter ?? true }));
    },
    unjoined: (query) => readUnjoined(database, query),
    reviewers: async ({ limit, ...query }) => {
      const rows = await database.rows<{ reviewer: string; fingerprint: string; labels: string }>(
        `SELECT any(ScoredBy) AS reviewer, toString(Fingerprint) AS fingerprint, count() AS labels FROM scores FINAL
         PREWHERE Scorer = {scorer:String} AND Source = 'human' WHERE ${SINCE(query)}
         GROUP BY fingerprint ORDER BY labels DESC, reviewer LIMIT {limit:UInt32}`,
        { ...rangeParams(query), limit },
      );
      return rows.map(({ labels, ...row }) => ({ ...row, labels: Number(labels) }));
    },
  };
}

async function readUnjoined(
  database: Database,
  { writtenSinceMs, limit }: { readonly writtenSinceMs: number; readonly limit: number },
): Promise<Score[]> {
  const rows = await database.rows<ScoreRow>(
    `SELECT ${SCORE_SELECTION} FROM scores FINAL
     WHERE ScoreId IN (
       SELECT ScoreId FROM scores
       WHERE WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) AND Source IN ('human', 'api')
         AND Completeness = 'partial' AND TraceId != '')
       AND ScoredBy != '' AND Completeness = 'partial'
     ORDER BY ScoredAt DESC, ScoreId
     LIMIT {limit:UInt32}`,
    { since: Math.max(0, Math.trunc(writtenSinceMs)), limit },
  );
  return rows.map(fromScoreRow);
}

function buildParams({ tenant, scorer, fingerprint, sinceMs }: LabelQuery): QueryParams {
  return { tenant, scorer, fingerprint, ...sinceParams(sinceMs) };
}

function sinceParams(sinceMs: number): { readonly since: number; readonly day: number } {
  const since = Math.max(0, Math.trunc(sinceMs));
  // The first score of a run is at most a day older than its start, by clocks that differ.
  return { since, day: Math.max(0, Math.trunc(since / DAY_MS) - 1) };
}

function rangeParams({ tenant, scorer, sinceMs }: LabelledScorer): QueryParams {
  return { tenant, scorer, since: Math.max(0, Math.trunc(sinceMs)) };
}

/** Weights of parts, as the store returns a map. */
type StoredParts = readonly [parts: readonly number[], weights: readonly number[]];

interface StoredVersion {
  readonly fingerprint: string;
  readonly scorerVersion: string;
  readonly judgeModel: string;
  readonly higherIsBetter: boolean | null;
  readonly scores: string;
  readonly live: StoredParts;
  readonly backfilled: StoredParts;
}

function spreadParts([parts, weights]: StoredParts): number[] {
  return Array.from({ length: PART_LIMITS.length + 1 }, (_, part) => weights[parts.indexOf(part)] ?? 0);
}

const SINCE = (query: LabelledScorer) =>
  `TraceTimestamp >= fromUnixTimestamp64Milli({since:Int64}) ${OF_TENANT(query)}`;

const OF_TENANT = ({ tenant }: Pick<LabelQuery, 'tenant'>) =>
  tenant === undefined ? '' : 'AND Tenant = {tenant:String}';

/** For PREWHERE, too: all rows of an id have the same author. */
const LABELLED = (query: LabelQuery) =>
  `Scorer = {scorer:String} AND Source = 'human' AND Fingerprint = {fingerprint:String} ${OF_TENANT(query)}`;

/** A further run of a trace has an id that a label cannot name. */
const IS_NAMED = `(Target = 'session' OR TargetId = TraceId OR TargetId = concat(TraceId, '/', SpanId))`;

const PLACE = 'if(ScoreMax > ScoreMin, (Score - ScoreMin) / (ScoreMax - ScoreMin), Score)';

/** Runs since the start, with the partitions that can have them. */
const RECENT = 'Day >= toDate({day:UInt16}) AND TraceTimestamp >= fromUnixTimestamp64Milli({since:Int64})';

const READ_UNLABELLED = (query: LabelQuery) => `
  SELECT tenant, target, targetId, Newest.1 AS traceId, if(targetId = traceId, '', Newest.2) AS spanId, Newest.3 AS sessionId,
    Newest.4 AS agent, Newest.5 AS service, Newest.6 AS environment, Newest.7 AS startMs, Newest.8 AS scoreMin,
    Newest.9 AS scoreMax, Newest.10 AS higherIsBetter, Newest.11 AS label, Newest.12 AS band,
    sipHash64({seed:String}, tenant, targetId) / 18446744073709551616. AS draw, count() OVER () AS left
  FROM (
    SELECT Tenant AS tenant, toString(Target) AS target, TargetId AS targetId,
      argMax(tuple(TraceId, if(Target = 'session', '', SpanId), SessionId, toString(Agent), toString(ServiceName), toString(Environment),
        toUnixTimestamp64Milli(TraceTimestamp), ScoreMin, ScoreMax, HigherIsBetter, toString(Label),
        toUInt8(least(${BANDS - 1}, greatest(0, floor(ifNull(${PLACE}, Score) * ${BANDS}))))), ScoredAt) AS Newest
    FROM scores FINAL
    WHERE Scorer = {scorer:String} AND Source IN ('live', 'backfill') ${OF_TENANT(query)} AND ${IS_NAMED}
      AND ${RECENT}
      AND (Tenant, TargetId) NOT IN (SELECT Tenant, TargetId FROM scores FINAL PREWHERE ${LABELLED(query)})
    GROUP BY tenant, target, targetId)
  ORDER BY draw, targetId
  LIMIT {perStratum:UInt32} BY label, band
  LIMIT {most:UInt32}`;

/** Columns of the rows of one fingerprint. */
const VERSION_COLUMNS = `toString(Fingerprint) AS fingerprint, argMax(toString(ScorerVersion), ScoredAt) AS scorerVersion,
    argMax(toString(JudgeModel), ScoredAt) AS judgeModel, any(HigherIsBetter) AS higherIsBetter`;

const READ_VERSIONS = (query: LabelledScorer) => `
  SELECT fingerprint, argMax(Newest.1, LastAt) AS scorerVersion, argMax(Newest.2, LastAt) AS judgeModel,
    any(Direction) AS higherIsBetter, sum(PartScores) AS scores,
    sumMapIf([Part], [PartWeight], IsLive) AS live, sumMapIf([Part], [PartWeight], NOT IsLive) AS backfilled
  FROM (
    SELECT Fingerprint AS fingerprint, Source = 'live' AS IsLive,
      toUInt8(${PART_LIMITS.map((limit) => `(Directed >= ${limit})`).join(' + ')}) AS Part,
      argMax((toString(ScorerVersion), toString(JudgeModel)), ScoredAt) AS Newest, max(ScoredAt) AS LastAt,
      any(HigherIsBetter) AS Direction, count() AS PartScores, sum(ifNull(Weight, 1)) AS PartWeight
    FROM (
      SELECT Fingerprint, Source, ScorerVersion, JudgeModel, ScoredAt, HigherIsBetter, Weight,
        least(1, greatest(0, ifNull(${PLACE}, Score))) AS Place, if(ifNull(HigherIsBetter, true), Place, 1 - Place) AS Directed
      FROM scores FINAL
      WHERE Scorer = {scorer:String} AND Source IN ('live', 'backfill') AND ${SINCE(query)})
    GROUP BY fingerprint, IsLive, Part)
  GROUP BY fingerprint
  ORDER BY max(LastAt) DESC`;

const READ_LABELLED_VERSIONS = `
  SELECT toString(Scorer) AS scorer, ${VERSION_COLUMNS}
  FROM scores
  WHERE Source IN ('live', 'backfill') AND ${RECENT} AND (Tenant, Scorer, TargetId) IN (
    SELECT Tenant, Scorer, TargetId FROM scores WHERE Source = 'human' AND ${RECENT})
  GROUP BY scorer, fingerprint
  ORDER BY max(ScoredAt) DESC
  LIMIT {limit:UInt32}`;

function toTarget({ left: _left, startMs, target, ...row }: StoredTarget): LabelTarget {
  return { ...row, target: target as TargetKind, startMs: Number(startMs) };
}

import type { AnchorRow } from '../../domain/anchor.ts';
import type { TraceKey } from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { DIRECTED } from '../monitors/folded-scores-sql.ts';
import { anchorRows } from '../table-rows.ts';

/** Run that can become an anchor, with its live scores by the name of their rows. */
export interface AnchorCandidate extends TraceKey {
  readonly scores: readonly (readonly [scorer: string, directed: number])[];
}

/** Version of a scorer whose anchors are looked for. Times are Unix milliseconds. */
export interface CandidateQuery {
  readonly fingerprint: string;
  /** Earliest score. */
  readonly sinceMs: number;
  readonly limit: number;
}

export function createAnchorStore(database: Database) {
  return bind(database, {
    write: anchorRows.write,
    since: readSince,
    candidates: readCandidates,
    judgedRuns: countJudgedRuns,
    labelled: readLabelled,
  });
}

export type AnchorStore = ReturnType<typeof createAnchorStore>;

/** Reads the judgings since a time (Unix milliseconds), the oldest first. */
function readSince(database: Database, sinceMs: number): Promise<AnchorRow[]> {
  return anchorRows.read(
    database,
    `FROM anchors FINAL WHERE At >= fromUnixTimestamp64Milli({since:Int64}) ORDER BY At, TraceId, Scorer`,
    { since: Math.trunc(sinceMs) },
  );
}

/** Reads runs with live scores of a version that are no anchors of it: labelled ones first, then by the time of their score. */
function readCandidates(
  database: Database,
  { fingerprint, sinceMs, limit }: CandidateQuery,
): Promise<AnchorCandidate[]> {
  return database.rows(
    `SELECT Tenant AS tenant, TraceId AS traceId, groupArray((toString(Scorer), assumeNotNull(Directed))) AS scores
     FROM (
       SELECT Tenant, TraceId, Scorer, ScoredAt, ${DIRECTED} AS Directed FROM scores FINAL
       WHERE Fingerprint = {fingerprint:String} AND Source = 'live' AND Stratum = 'uniform' AND Target = 'trace'
         AND ScoredAt >= fromUnixTimestamp64Milli({since:Int64}))
     WHERE Directed IS NOT NULL AND (Tenant, TraceId) NOT IN (
       SELECT Tenant, TraceId FROM anchors WHERE Fingerprint = {fingerprint:String} AND First = 1)
     GROUP BY Tenant, TraceId
     ORDER BY (Tenant, TraceId) IN (
       SELECT Tenant, TraceId FROM scores WHERE Source = 'human' AND TraceId != ''
         AND Scorer IN (SELECT Scorer FROM scores WHERE Fingerprint = {fingerprint:String})) DESC, min(ScoredAt), TraceId
     LIMIT {limit:UInt32}`,
    { fingerprint, since: Math.trunc(sinceMs), limit },
  );
}

/** Counts the runs that judges were asked about since a time, by scorer. Questions about anchors name no score. */
async function countJudgedRuns(database: Database, sinceMs: number): Promise<Map<string, number>> {
  const rows = await database.rows<{ scorer: string; runs: number }>(
    `SELECT Scorer AS scorer, toUInt32(uniqExact(ScoreId)) AS runs FROM judge_calls
     WHERE WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) AND CalledAt >= fromUnixTimestamp64Milli({since:Int64})
       AND ScoreId != ''
     GROUP BY Scorer`,
    { since: Math.trunc(sinceMs) },
  );
  return new Map(rows.map(({ scorer, runs }) => [scorer, runs]));
}

function readLabelled(database: Database): Promise<Pick<AnchorRow, 'tenant' | 'scorer' | 'traceId'>[]> {
  return database.rows(
    `SELECT DISTINCT Tenant AS tenant, Scorer AS scorer, TraceId AS traceId FROM scores FINAL
     WHERE Source = 'human' AND (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM anchors WHERE First = 1)`,
  );
}

import type { Score } from '../../domain/score.ts';
import type { Database } from '../database.ts';
import { fromScoreRow, SCORE_SELECTION, type ScoreRow } from './score-row.ts';

/**
 * Reads scores written (by the store's clock) at or after `fromMs` whose current revision this exporter has not confirmed,
 * oldest first. Never uses a position: a write may become visible after one with a later stamp.
 */
export async function readUnexported(
  database: Database,
  exporter: string,
  fromMs: number,
  limit: number,
): Promise<Score[]> {
  const rows = await database.rows<ScoreRow>(
    `SELECT ${SCORE_SELECTION} FROM scores FINAL
     WHERE WrittenAt >= fromUnixTimestamp64Milli({from:Int64})
       AND (ScoreId, Revision) NOT IN (
         SELECT ScoreId, Revision FROM exports
         WHERE Exporter = {exporter:String} AND ExportedAt >= fromUnixTimestamp64Milli({from:Int64}))
     ORDER BY WrittenAt, ScoreId
     LIMIT {limit:UInt32}`,
    { exporter, from: Math.trunc(fromMs), limit },
  );
  return rows.map(fromScoreRow);
}

/** Records that the exporter delivered these revisions. */
export async function markExported(
  database: Database,
  exporter: string,
  scores: readonly Score[],
): Promise<void> {
  await database.insertRows(
    'exports',
    scores.map((score) => ({ Exporter: exporter, ScoreId: score.scoreId, Revision: score.revision })),
  );
}

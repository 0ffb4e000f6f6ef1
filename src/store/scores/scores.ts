import type { Score } from '../../domain/score.ts';
import type { ScoreStore } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { scoreRows } from '../table-rows.ts';
import { IN_KEYS, splitIntoSlices } from '../spans/trace-keys.ts';

/** Creates the store of current scores: one row for each id, the one with the newest evidence, without tombstones. */
export function createScoreStore(database: Database): ScoreStore {
  return {
    byIds: (ids) => scoresById(database, ids),
    // All rows of an id have the same trace: so PREWHERE leaves out whole ids, and FINAL reads a few rows.
    ofTraces: (keys) =>
      scoreRows.readByTrace(
        database,
        `FROM scores FINAL PREWHERE ${IN_KEYS} ORDER BY Scorer, TargetId, ScoreId`,
        keys,
      ),
    write: (scores) => scoreRows.write(database, scores),
  };
}

/**
 * Reads scores by id. Two owners that score an id before and after midnight write it under two days: the row with the newer
 * evidence counts.
 */
async function scoresById(database: Database, ids: readonly string[]): Promise<Map<string, Score>> {
  const found = new Map<string, Score>();
  for (const slice of splitIntoSlices(ids)) {
    const rows = await scoreRows.read(
      database,
      `FROM scores FINAL
       WHERE ScoreId IN {ids:Array(UUID)}
       ORDER BY Version DESC LIMIT 1 BY ScoreId`,
      { ids: slice },
    );
    rows.forEach((score) => found.set(score.scoreId, score));
  }
  return found;
}

/** Reads the scorer names in score rows, also those of earlier configurations. */
export async function readScorerNames(database: Database, tenant: string | undefined): Promise<string[]> {
  const rows = await database.rows<{ scorer: string }>(
    `SELECT DISTINCT Scorer AS scorer FROM scores
     ${tenant === undefined ? '' : 'WHERE Tenant = {tenant:String}'} ORDER BY scorer`,
    tenant === undefined ? {} : { tenant },
  );
  return rows.map(({ scorer }) => scorer);
}

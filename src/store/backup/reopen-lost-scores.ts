import { BACKFILL_RULES, COMMAND_RULE, WHOLE_RULE } from '../../domain/decision.ts';
import type { Database } from '../database.ts';

/** Most decisions that one statement compares with their scores. */
const DECISIONS_PER_STATEMENT = 1_000_000;

/** A score belongs to a scorer by its name, or by the name of one of its rows (`findRowScorer`). */
const HAS_SCORE = `arrayExists(
  name -> name = Scorer OR startsWith(name, concat(Scorer, '-')) OR startsWith(name, concat(Scorer, '/')), names)`;

const IS_LIVE = `NOT startsWith(Rule, '${BACKFILL_RULES}') AND Rule != '${COMMAND_RULE}'`;

/** Attempts are the last ten bits of a version. */
const MOST_ATTEMPTS = 1_023;

/**
 * Reopens decisions `scored` whose score is not stored. Live scoring tries them again at once. Decisions of a backfill or a command
 * become `failed`, because nobody tries them again. Returns their number.
 */
export async function reopenLostScores(database: Database): Promise<number> {
  const [row] = await database.rows<{ scored: string }>(
    "SELECT count() AS scored FROM decisions WHERE Status = 'scored'",
  );
  const slices = Math.max(1, Math.ceil(Number(row?.scored ?? 0) / DECISIONS_PER_STATEMENT));
  let reopened = 0;
  for (let slice = 0; slice < slices; slice++) {
    const lost = selectLost(slice, slices);
    const [found] = await database.rows<{ lost: string }>(`SELECT count() AS lost FROM (${lost})`);
    reopened += Number(found?.lost ?? 0);
    await database.insertSelected(
      `INSERT INTO decisions SELECT * EXCEPT names REPLACE (
         if(${IS_LIVE}, 'deferred', 'failed') AS Status,
         if(${IS_LIVE}, 'score_lost: the score was not in the restored data; it is made again',
           'score_lost: the score was not in the restored data; score the target again') AS Reason,
         if(${IS_LIVE}, now64(3), NULL) AS NextAttemptAt,
         least(Attempts + 1, ${MOST_ATTEMPTS}) AS Attempts, Version + 1 AS Version,
         now64(3) AS DecidedAt, now64(3) AS WrittenAt)
       FROM (${lost})`,
      {},
    );
  }
  return reopened;
}

/** SQL for the decisions of one slice of all targets. */
function selectLost(slice: number, slices: number): string {
  const inSlice = `cityHash64(Tenant, TraceId, TargetId) % ${slices} = ${slice}`;
  return `
    SELECT decided.*, names FROM (
      SELECT * FROM decisions FINAL WHERE Status = 'scored' AND Scorer != '${WHOLE_RULE}' AND ${inSlice}) AS decided
    LEFT JOIN (
      SELECT Tenant, TraceId, Target, TargetId, groupUniqArray(toString(Scorer)) AS names FROM scores FINAL
      WHERE ${inSlice} GROUP BY Tenant, TraceId, Target, TargetId) AS scored
    USING (Tenant, TraceId, Target, TargetId)
    WHERE NOT ${HAS_SCORE}`;
}

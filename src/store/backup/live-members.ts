import type { Database } from '../database.ts';
import { CLOCK_SKEW_MS } from '../scores/duties.ts';

/** Beats of the processes that score, and of those that have duties. */
const BEATS = `SELECT Member, '' AS Duty, BeatAt, Leaving FROM scorer_members
  UNION ALL SELECT Member, Duty, BeatAt, Leaving FROM duty_members`;

/** Names the members that have not left and whose last beat is at most `ttlMs` old. */
export async function listLiveMembers(database: Database, ttlMs: number): Promise<string[]> {
  const rows = await database.rows<{ name: string }>(
    `SELECT DISTINCT Member AS name FROM (
       SELECT Member, Duty, argMax(Leaving, BeatAt) AS Left, max(BeatAt) AS LastBeat FROM (${BEATS}) GROUP BY Member, Duty)
     WHERE Left = 0 AND LastBeat >= now64(3) - toIntervalMillisecond({ttlMs:UInt32})
       AND LastBeat <= now64(3) + toIntervalMillisecond({skewMs:UInt32})
     ORDER BY name`,
    { ttlMs, skewMs: CLOCK_SKEW_MS },
  );
  return rows.map(({ name }) => name);
}

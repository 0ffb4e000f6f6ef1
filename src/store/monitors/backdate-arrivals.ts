// Apart from the store of monitors, which never moves an arrival: only the demonstration does.
import type { Database } from '../database.ts';

/**
 * Moves the arrivals of scores to a minute after the starts of their runs. So monitors see the history of a store that was filled at
 * once as if it had come over that time. Nothing else may be written meanwhile.
 * @param sinceMs begin of the filling, Unix milliseconds; every run began before
 */
export async function backdateArrivals(database: Database, sinceMs: number): Promise<void> {
  const params = { since: Math.trunc(sinceMs) };
  await database.insertSelected(
    `INSERT INTO score_arrivals
     SELECT * REPLACE (toDateTime64(TraceTimestamp + toIntervalMinute(1), 3, 'UTC') AS WrittenAt)
     FROM score_arrivals AS stored WHERE stored.WrittenAt >= fromUnixTimestamp64Milli({since:Int64})`,
    params,
  );
  await database.command(
    `ALTER TABLE score_arrivals DELETE WHERE WrittenAt >= fromUnixTimestamp64Milli(${params.since}) SETTINGS mutations_sync = 2`,
  );
}

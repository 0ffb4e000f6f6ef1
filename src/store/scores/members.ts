import type { MemberStore } from '../contracts/stores.ts';
import type { Database } from '../database.ts';

/** Creates the store of processes that share work: the last beat of each, by the store's clock. */
export function createMemberStore(
  database: Database,
  table: 'scorer_members' | 'alert_members',
): MemberStore {
  return {
    async beat(member, { ttlMs, leaving = false }) {
      await database.insertRows(table, [{ Member: member, Leaving: leaving ? 1 : 0 }]);
      const rows = await database.rows<{ member: string }>(
        `SELECT Member AS member FROM ${table} GROUP BY Member
         HAVING argMax(Leaving, BeatAt) = 0 AND max(BeatAt) >= now64(3) - toIntervalMillisecond({ttlMs:UInt32})
         ORDER BY member`,
        { ttlMs },
      );
      return rows.map((row) => row.member);
    },
  };
}

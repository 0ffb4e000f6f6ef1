import type { MemberStore } from './contracts/stores.ts';
import type { Database } from './database.ts';

/** Which scorer processes live: the last beat of each, by the store's clock. */
export function createMemberStore(database: Database): MemberStore {
  return {
    async beat(member, { ttlMs, leaving = false }) {
      await database.insertRows('scorer_members', [{ Member: member, Leaving: leaving ? 1 : 0 }]);
      const rows = await database.rows<{ member: string }>(
        `SELECT Member AS member FROM scorer_members GROUP BY Member
         HAVING argMax(Leaving, BeatAt) = 0 AND max(BeatAt) >= now64(3) - toIntervalMillisecond({ttlMs:UInt32})
         ORDER BY member`,
        { ttlMs },
      );
      return rows.map((row) => row.member);
    },
  };
}

import type { MemberStore } from '../contracts/stores.ts';
import type { Database } from '../database.ts';

interface MemberRow {
  name: string;
  cells: string[];
  beatAt: string;
  leaving: number;
  now: string;
}

/** Column with the work of a member; members of a table without it do all work. */
const CELLS = { scorer_members: 'argMax(Cells, BeatAt)', alert_members: "['*']" };

/** Creates the store of processes that share work: the last beat of each, by the store's clock. */
export function createMemberStore(database: Database, table: keyof typeof CELLS): MemberStore {
  return {
    async beat(member, { cells, leaving = false }) {
      const beat = { Member: member, Leaving: leaving ? 1 : 0 };
      await database.insertRows(table, [table === 'scorer_members' ? { ...beat, Cells: cells } : beat]);
      const rows = await database.rows<MemberRow>(
        `SELECT Member AS name, ${CELLS[table]} AS cells, toUnixTimestamp64Milli(max(BeatAt)) AS beatAt,
           argMax(Leaving, BeatAt) AS leaving, toUnixTimestamp64Milli(now64(3)) AS now
         FROM ${table} GROUP BY Member ORDER BY Member`,
      );
      return {
        nowMs: Number(rows[0]?.now ?? 0),
        members: rows.map((row) => ({
          name: row.name,
          cells: row.cells,
          beatAtMs: Number(row.beatAt),
          isLeaving: row.leaving === 1,
        })),
      };
    },
  };
}

import type { MemberStore } from '../contracts/stores.ts';
import type { Database } from '../database.ts';

interface MemberRow {
  name: string;
  cells: string[];
  beatAt: string;
  leaving: number;
  now: string;
}

/** Duty of the processes that score. Every one of them has it; the other duties belong to one process at a time. */
export const SCORING_DUTY = '';

const DISMISSAL = `INSERT INTO members (Duty, Member, Leaving, Cells)
  SELECT '${SCORING_DUTY}', Member, 1, argMax(Cells, BeatAt) FROM members WHERE Duty = '${SCORING_DUTY}'
  GROUP BY Member HAVING argMax(Leaving, BeatAt) = 0`;

/** Creates the store of the scorer processes: the last beat of each, by the store's clock. */
export function createMemberStore(database: Database): MemberStore {
  return {
    dismissAll: () => database.insertSelected(DISMISSAL, {}),
    async beat(member, { cells, leaving = false }) {
      await database.insertRows('members', [
        { Duty: SCORING_DUTY, Member: member, Leaving: leaving ? 1 : 0, Cells: cells },
      ]);
      const rows = await database.rows<MemberRow>(
        `SELECT Member AS name, argMax(Cells, BeatAt) AS cells, toUnixTimestamp64Milli(max(BeatAt)) AS beatAt,
           argMax(Leaving, BeatAt) AS leaving, toUnixTimestamp64Milli(now64(3)) AS now
         FROM members WHERE Duty = '${SCORING_DUTY}' GROUP BY Member ORDER BY Member`,
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

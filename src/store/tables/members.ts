import { randomUUID } from 'node:crypto';
import type { DutyMember, DutyStore } from '../contracts/duties.ts';
import type { Member, MemberStore } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { hasEnded, markProcess } from '../embedded/processes.ts';
import { toDateTime } from '../values.ts';

/** Duty of the processes that score. Every one of them has it; the other duties belong to one process at a time. */
export const SCORING_DUTY = '';

const SCORER_DISMISSAL = `INSERT INTO members (Duty, Member, Leaving, Cells)
  SELECT '${SCORING_DUTY}', Member, 1, argMax(Cells, BeatAt) FROM members WHERE Duty = '${SCORING_DUTY}'
  GROUP BY Member HAVING argMax(Leaving, BeatAt) = 0`;

/** Creates the store of the scorer processes: the last beat of each, by the store's clock. */
export function createMemberStore(database: Database): MemberStore {
  return {
    dismissAll: () => database.insertSelected(SCORER_DISMISSAL, {}),
    async beat(member, { cells, leaving = false }) {
      await database.insertRows('members', [
        { Duty: SCORING_DUTY, Member: member, Leaving: leaving ? 1 : 0, Cells: cells },
      ]);
      const rows = await database.rows<Member & { readonly nowMs: number }>(
        `SELECT Member AS name, argMax(Cells, BeatAt) AS cells, toUnixTimestamp64Milli(max(BeatAt)) AS beatAtMs,
           toBool(argMax(Leaving, BeatAt)) AS isLeaving, toUnixTimestamp64Milli(now64(3)) AS nowMs
         FROM members WHERE Duty = '${SCORING_DUTY}' GROUP BY Member ORDER BY Member`,
      );
      return {
        nowMs: rows[0]?.nowMs ?? 0,
        members: rows.map(({ name, cells: beaten, beatAtMs, isLeaving }) => ({
          name,
          cells: beaten,
          beatAtMs,
          isLeaving,
        })),
      };
    },
  };
}

/** Longest time that a stamp may be ahead of the store's clock, milliseconds: replicas have clocks of their own. */
export const CLOCK_SKEW_MS = 5_000;

/** Ends memberships at their last beat: their processes did not run until this moment. */
const DISMISSAL = `INSERT INTO members (Duty, Member, JoinedAt, Leaving, BeatAt)
  SELECT Duty, Member, min(JoinedAt), 1, max(BeatAt) + toIntervalMillisecond(1) FROM members WHERE Duty != '${SCORING_DUTY}'
  GROUP BY Duty, Member HAVING max(Leaving) = 0`;

/** Creates the store of the processes that share duties. */
export function createDutyStore(database: Database): DutyStore {
  const mark = markProcess();
  return {
    nameMember: () => `${randomUUID()} ${mark}`,
    beat: (beats) =>
      database.insertRows(
        'members',
        beats.map(({ duty, member, joinedAtMs, isLeaving }) => ({
          Duty: duty,
          Member: member,
          Leaving: isLeaving ? 1 : 0,
          ...(joinedAtMs === undefined ? {} : { JoinedAt: toDateTime(joinedAtMs) }),
        })),
      ),
    readMembers: (duties, ttlMs) => readMembers(database, duties, ttlMs),
    dismissAll: () => database.insertSelected(DISMISSAL, {}),
  };
}

async function readMembers(
  database: Database,
  duties: readonly string[],
  ttlMs: number,
): Promise<DutyMember[]> {
  const rows = await database.rows<DutyMember>(
    `SELECT Duty AS duty, Member AS member,
       toUnixTimestamp64Milli(min(JoinedAt)) AS joinedAtMs, toUnixTimestamp64Milli(max(BeatAt)) AS beatAtMs,
       toUnixTimestamp64Milli(now64(3)) AS nowMs
     FROM members WHERE Duty IN {duties:Array(String)}
     GROUP BY Duty, Member
     HAVING max(Leaving) = 0 AND max(BeatAt) >= now64(3) - toIntervalMillisecond({ttlMs:UInt32})
       AND max(BeatAt) <= now64(3) + toIntervalMillisecond({skewMs:UInt32})
     ORDER BY joinedAtMs, member`,
    { duties, ttlMs, skewMs: CLOCK_SKEW_MS },
  );
  return rows.filter(({ member }) => !hasEnded(member.slice(member.indexOf(' ') + 1)));
}

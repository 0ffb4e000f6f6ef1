import { randomUUID } from 'node:crypto';
import type { DutyBeat, DutyMember, Member } from '../contracts/stores.ts';
import { bind, type Database } from '../database.ts';
import { hasEnded, markProcess } from '../embedded/processes.ts';
import { toDateTime } from '../values.ts';

/** Duty of the processes that score. Every one of them has it; the other duties belong to one process at a time. */
export const SCORING_DUTY = '';

const SCORER_DISMISSAL = `INSERT INTO members (Duty, Member, Leaving, Pairs)
  SELECT '${SCORING_DUTY}', Member, 1, argMax(Pairs, BeatAt) FROM members WHERE Duty = '${SCORING_DUTY}'
  GROUP BY Member HAVING argMax(Leaving, BeatAt) = 0`;

/** Creates the store of the scorer processes: the last beat of each, by the store's clock. */
export function createMemberStore(database: Database) {
  return {
    /**
     * Marks all members as leaving, so that nobody waits for their beats to grow old. For a process that has started the engine of the
     * store: all members of before used an engine that has ended. A member that still runs comes back with its next beat.
     */
    dismissAll: () => database.insertSelected(SCORER_DISMISSAL, {}),
    /**
     * Records that a member runs (or leaves). Returns the members of the last day and the store's clock, Unix milliseconds. A
     * stamp may lie ahead of that clock, when the clock went back.
     */
    async beat(
      member: string,
      { pairs, leaving = false }: { readonly pairs: readonly string[]; readonly leaving?: boolean },
    ): Promise<{ readonly nowMs: number; readonly members: readonly Member[] }> {
      await database.insertRows('members', [
        { Duty: SCORING_DUTY, Member: member, Leaving: leaving ? 1 : 0, Pairs: pairs },
      ]);
      const rows = await database.rows<Member & { readonly nowMs: number }>(
        `SELECT Member AS name, argMax(Pairs, BeatAt) AS pairs, toUnixTimestamp64Milli(max(BeatAt)) AS beatAtMs,
           toBool(argMax(Leaving, BeatAt)) AS isLeaving, toUnixTimestamp64Milli(now64(3)) AS nowMs
         FROM members WHERE Duty = '${SCORING_DUTY}' GROUP BY Member ORDER BY Member`,
      );
      return {
        nowMs: rows[0]?.nowMs ?? 0,
        members: rows.map(({ name, pairs: beaten, beatAtMs, isLeaving }) => ({
          name,
          pairs: beaten,
          beatAtMs,
          isLeaving,
        })),
      };
    },
  };
}

export type MemberStore = ReturnType<typeof createMemberStore>;

/** Longest time that a stamp may be ahead of the store's clock, milliseconds: replicas have clocks of their own. */
export const CLOCK_SKEW_MS = 5_000;

/** Ends memberships at their last beat: their processes did not run until this moment. */
const DISMISSAL = `INSERT INTO members (Duty, Member, JoinedAt, Leaving, BeatAt)
  SELECT Duty, Member, min(JoinedAt), 1, max(BeatAt) + toIntervalMillisecond(1) FROM members WHERE Duty != '${SCORING_DUTY}'
  GROUP BY Duty, Member HAVING max(Leaving) = 0`;

export function createDutyStore(database: Database) {
  const mark = markProcess();
  return {
    nameMember: () => `${randomUUID()} ${mark}`,
    /** Stores beats, stamped by the store. */
    beat: (beats: readonly DutyBeat[]) =>
      database.insertRows(
        'members',
        beats.map(({ duty, member, joinedAtMs, isLeaving }) => ({
          Duty: duty,
          Member: member,
          Leaving: isLeaving ? 1 : 0,
          ...(joinedAtMs === undefined ? {} : { JoinedAt: toDateTime(joinedAtMs) }),
        })),
      ),
    ...bind(database, { readMembers }),
    /**
     * Marks all members as gone, so that nobody waits for their beats to grow old. For a process that has started the engine of the store:
     * all members of before used an engine that has ended, and cannot reach this one.
     */
    dismissAll: () => database.insertSelected(DISMISSAL, {}),
  };
}

export type DutyStore = ReturnType<typeof createDutyStore>;

/**
 * Reads the members of these duties whose last beat is at most `ttlMs` old, the earliest joined first. A beat with a stamp
 * in the store's future (after a step of its clock) does not count. Nor does a member whose process this machine knows to have ended.
 */
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

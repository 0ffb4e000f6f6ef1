import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DutyBeat, DutyMember, Member } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { hasEnded, markProcess } from '../embedded/processes.ts';
import { toDateTime } from '../values.ts';

/** Duty of the processes that score. Every one of them has it; the other duties belong to one process at a time. */
export const SCORING_DUTY = '';

/** Longest time that a stamp may be ahead of the store's clock, milliseconds: replicas have clocks of their own. */
export const CLOCK_SKEW_MS = 5_000;

const SCORER_DISMISSAL = `INSERT INTO members (Duty, Member, Leaving, Pairs)
  SELECT '${SCORING_DUTY}', Member, 1, argMax(Pairs, BeatAt) FROM members WHERE Duty = '${SCORING_DUTY}'
  GROUP BY Member HAVING argMax(Leaving, BeatAt) = 0`;

/** Ends memberships at their last beat: their processes did not run until this moment. */
const DISMISSAL = `INSERT INTO members (Duty, Member, JoinedAt, Leaving, BeatAt)
  SELECT Duty, Member, min(JoinedAt), 1, max(BeatAt) + toIntervalMillisecond(1) FROM members WHERE Duty != '${SCORING_DUTY}'
  GROUP BY Duty, Member HAVING max(Leaving) = 0`;

/** Members of some duties, and the age of a beat from which a member of a duty counts as dead. */
interface Question {
  readonly duties: readonly string[];
  readonly ttlMs: number;
}

/** Row of a read: a member of a duty that lives, or a scorer of the last day. */
interface Row extends DutyMember, Pick<Member, 'pairs' | 'isLeaving'> {}

/**
 * Creates the stores of the scorer processes and of the duties. Beats of one turn of the event loop are one insert, and reads are one
 * read: a statement costs as much for one row as for all.
 */
export function createMemberStores(database: Database) {
  const insert = inOneTurn((beats: readonly (readonly object[])[]) =>
    database.insertRows('members', beats.flat()),
  );
  const read = inOneTurn((asked: readonly Question[]) => readMembers(database, asked));
  return {
    members: createMemberStore(database, insert, read),
    duties: createDutyStore(database, insert, read),
  };
}

/** Creates the store of the scorer processes: the last beat of each, by the store's clock. */
function createMemberStore(database: Database, insert: Insert, read: Read) {
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
      await insert([{ Duty: SCORING_DUTY, Member: member, Leaving: leaving ? 1 : 0, Pairs: pairs }]);
      const rows = (await read({ duties: [SCORING_DUTY], ttlMs: 0 })).filter(
        ({ duty }) => duty === SCORING_DUTY,
      );
      return {
        nowMs: rows[0]?.nowMs ?? 0,
        members: rows.map(({ member: name, pairs: beaten, beatAtMs, isLeaving }) => ({
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

function createDutyStore(database: Database, insert: Insert, read: Read) {
  const mark = markProcess();
  return {
    nameMember: () => `${randomUUID()} ${mark}`,
    /** Stores beats, stamped by the store. */
    beat: (beats: readonly DutyBeat[]) =>
      insert(
        beats.map(({ duty, member, joinedAtMs, isLeaving }) => ({
          Duty: duty,
          Member: member,
          Leaving: isLeaving ? 1 : 0,
          ...(joinedAtMs === undefined ? {} : { JoinedAt: toDateTime(joinedAtMs) }),
        })),
      ),
    /**
     * Reads the members of these duties whose last beat is at most `ttlMs` old, the earliest joined first. A beat with a stamp
     * in the store's future (after a step of its clock) does not count. Nor does a member whose process this machine knows to have ended.
     */
    async readMembers(duties: readonly string[], ttlMs: number): Promise<DutyMember[]> {
      return (await read({ duties, ttlMs })).filter(
        ({ duty, member, beatAtMs, nowMs }) =>
          duties.includes(duty) &&
          beatAtMs >= nowMs - ttlMs &&
          !hasEnded(member.slice(member.indexOf(' ') + 1)),
      );
    },
    /**
     * Marks all members as gone, so that nobody waits for their beats to grow old. For a process that has started the engine of the store:
     * all members of before used an engine that has ended, and cannot reach this one.
     */
    dismissAll: () => database.insertSelected(DISMISSAL, {}),
  };
}

export type DutyStore = ReturnType<typeof createDutyStore>;

type Insert = (beats: readonly object[]) => Promise<void>;
type Read = (question: Question) => Promise<readonly Row[]>;

/** Runs once for all calls of one turn of the event loop. */
function inOneTurn<T, R>(run: (items: readonly T[]) => Promise<R>): (item: T) => Promise<R> {
  let turn: { readonly items: T[]; readonly result: Promise<R> } | undefined;
  return (item) => {
    if (turn === undefined) {
      const items: T[] = [];
      const result = nextTurn().then(() => {
        turn = undefined;
        return run(items);
      });
      turn = { items, result };
    }
    turn.items.push(item);
    return turn.result;
  };
}

/**
 * Reads members by their stored beats: grouping them here costs half of what a grouping statement costs. Merges leave the last beat of
 * each.
 */
async function readMembers(database: Database, asked: readonly Question[]): Promise<readonly Row[]> {
  const ttlMs = Math.max(...asked.map((question) => question.ttlMs));
  const beats = await database.rows<Row>(
    `SELECT Duty AS duty, Member AS member, Pairs AS pairs, toBool(Leaving) AS isLeaving,
       toUnixTimestamp64Milli(JoinedAt) AS joinedAtMs, toUnixTimestamp64Milli(BeatAt) AS beatAtMs,
       toUnixTimestamp64Milli(now64(3)) AS nowMs
     FROM members WHERE Duty IN {duties:Array(String)}
       AND (Duty = '${SCORING_DUTY}' OR BeatAt >= now64(3) - toIntervalMillisecond({ttlMs:UInt32}))`,
    { duties: [...new Set(asked.flatMap(({ duties }) => duties))], ttlMs },
  );
  const members = [...Map.groupBy(beats, ({ duty, member }) => JSON.stringify([duty, member])).values()];
  return members
    .flatMap((own) => joinBeats(own))
    .sort((a, b) => a.joinedAtMs - b.joinedAtMs || (a.member < b.member ? -1 : 1));
}

/** Joins the beats of a member. A member of a duty that leaves, or whose last beat lies ahead, is none. */
function joinBeats(beats: readonly Row[]): Row[] {
  const last = beats.reduce((latest, beat) => (beat.beatAtMs > latest.beatAtMs ? beat : latest));
  const isGone = beats.some(({ isLeaving }) => isLeaving) || last.beatAtMs > last.nowMs + CLOCK_SKEW_MS;
  return last.duty !== SCORING_DUTY && isGone
    ? []
    : [{ ...last, joinedAtMs: Math.min(...beats.map(({ joinedAtMs }) => joinedAtMs)) }];
}

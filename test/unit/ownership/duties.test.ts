import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startDuties, type Duties, type DutyOptions } from '../../../src/ownership/duties.ts';
import type { DutyBeat } from '../../../src/store/contracts/stores.ts';
import type { DutyStore } from '../../../src/store/tables/members.ts';

/** The store's side: it stamps beats with its own clock. */
class DutyTable implements DutyStore {
  rows: (DutyBeat & { readonly beatAtMs: number })[] = [];
  /** Difference of the store's clock to that of the test. */
  aheadMs = 0;
  isAway = false;

  nowMs(): number {
    return Date.now() + this.aheadMs;
  }

  nameMember = randomUUID;

  beat = async (beats: readonly DutyBeat[]) => {
    if (this.isAway) {
      throw new Error('the store is away');
    }
    const beatAtMs = this.nowMs();
    this.rows.push(...beats.map((beat) => ({ ...beat, beatAtMs, joinedAtMs: beat.joinedAtMs ?? beatAtMs })));
  };

  dismissAll = async () => {
    this.rows = this.rows.map((row) => ({ ...row, isLeaving: true }));
  };

  readMembers = async (duties: readonly string[], ttlMs: number) => {
    const nowMs = this.nowMs();
    return [...Map.groupBy(this.rows, ({ duty, member }) => `${duty} ${member}`).values()]
      .map((rows) => ({
        duty: rows[0]!.duty,
        member: rows[0]!.member,
        joinedAtMs: Math.min(...rows.map(({ joinedAtMs }) => joinedAtMs ?? 0)),
        beatAtMs: Math.max(...rows.map(({ beatAtMs }) => beatAtMs)),
        isGone: rows.some(({ isLeaving }) => isLeaving),
        nowMs,
      }))
      .filter(({ duty, isGone, beatAtMs }) => duties.includes(duty) && !isGone && beatAtMs >= nowMs - ttlMs)
      .filter(({ beatAtMs }) => beatAtMs <= nowMs + 5_000)
      .sort((a, b) => a.joinedAtMs - b.joinedAtMs || (a.member < b.member ? -1 : 1));
  };
}

let table: DutyTable;
const running: Duties[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  table = new DutyTable();
});
afterEach(() => {
  for (const each of running.splice(0)) {
    each.stop();
  }
  vi.useRealTimers();
});

function start(...names: string[]): Duties {
  return startOn(table, names);
}

function startOn(store: DutyStore, names: readonly string[], options: DutyOptions = {}): Duties {
  const duties = startDuties(store, options);
  duties.join(names);
  running.push(duties);
  return duties;
}

async function wait(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1_000);
}

describe('a duty', () => {
  test('belongs to the process that joined first, and a later one never takes it over', async () => {
    const first = start('hook');
    await wait(1);
    const second = start('hook');
    for (let seconds = 0; seconds < 60; seconds += 1) {
      await wait(1);
      expect(await second.readEpoch('hook')).toBeUndefined();
    }
    expect(await first.readEpoch('hook')).toBe(1);
  });

  test('belongs to nobody until earlier members are visible', async () => {
    const first = start('hook');
    await wait(2);
    expect(await first.readEpoch('hook')).toBeUndefined();
    await wait(2);
    expect(await first.readEpoch('hook')).toBe(1);
  });

  test('goes to the next process within a second when the first one leaves', async () => {
    const first = start('hook');
    await wait(1);
    const second = start('hook');
    await wait(10);
    await first.leave('hook');
    expect(await first.readEpoch('hook')).toBeUndefined();
    await wait(1);
    expect(await second.readEpoch('hook')).toBe(1);
  });

  test('goes to the next process once the beats of a killed one are old', async () => {
    const first = start('hook');
    await wait(1);
    const second = start('hook');
    await wait(10);
    first.stop();
    await wait(9);
    expect(await second.readEpoch('hook')).toBeUndefined();
    await wait(8);
    expect(await second.readEpoch('hook')).toBe(1);
  });

  test('goes to a new process without a wait for old beats after a dismissal of all members', async () => {
    const killed = start('hook');
    await wait(10);
    killed.stop();
    await table.dismissAll();
    const started = start('hook');
    await wait(4);
    expect(await started.readEpoch('hook')).toBe(1);
  });

  test('of another name belongs to a process that has it alone', async () => {
    start('old');
    await wait(1);
    const second = start('old', 'new');
    await wait(5);
    expect(await second.readEpoch('old')).toBeUndefined();
    expect(await second.readEpoch('new')).toBe(1);
  });
});

describe('a process that was silent for long', () => {
  test('sees that another process has the duty, and gets it back only in a later epoch', async () => {
    const first = start('hook');
    await wait(1);
    const second = start('hook');
    await wait(10);
    expect(await first.readEpoch('hook')).toBe(1);

    // No timer of a stopped process runs.
    first.stop();
    await wait(30);
    expect(await second.readEpoch('hook')).toBe(1);
    expect(await first.readEpoch('hook')).toBeUndefined();

    await second.leave('hook');
    await wait(11);
    await first.readEpoch('hook');
    await wait(11);
    expect(await first.readEpoch('hook')).toBe(2);
  });

  test('begins a new epoch even if it is alone', async () => {
    const first = start('hook');
    await wait(10);
    expect(await first.readEpoch('hook')).toBe(1);
    first.stop();
    await wait(30);
    expect(await first.readEpoch('hook')).toBeUndefined();
  });

  test('by the store only, as after a sleep of the machine, begins a new epoch', async () => {
    const first = start('hook');
    await wait(10);
    table.aheadMs += 60_000;
    await wait(4);
    expect(await first.readEpoch('hook')).toBeUndefined();
    await wait(5);
    expect(await first.readEpoch('hook')).toBe(2);
  });
});

test('each beat calls for the other beats of the process, and a look without a beat does not', async () => {
  const onBeat = vi.fn();
  const duties = startDuties(table, { onBeat });
  running.push(duties);
  duties.join(['exporter']);
  await wait(9.5);
  // At 0, 3, 6 and 9 s. A process without the duty looks each second.
  expect(onBeat).toHaveBeenCalledTimes(table.rows.length);
  expect(table.rows).toHaveLength(4);
});

test('a row in the future of the store, after a step of its clock, keeps no duty', async () => {
  const first = start('hook');
  await wait(10);
  table.aheadMs -= 3_600_000;
  const second = start('hook');
  await wait(10);
  const epochs = [await first.readEpoch('hook'), await second.readEpoch('hook')];
  expect(epochs.filter((epoch) => epoch !== undefined)).toHaveLength(1);
});

test('a process whose beats the store does not take fails to read its epoch before others take over', async () => {
  const first = start('hook');
  await wait(6);
  table.isAway = true;
  await wait(12);
  await expect(first.readEpoch('hook')).rejects.toThrow('the store is away');
});

describe('a duty that is taken at once by a process that is alone', () => {
  const startAlone = (store: DutyStore = table) => startOn(store, ['job'], { takesAlone: true });

  test('is had after the first look, and kept', async () => {
    const duties = startAlone();
    expect(await duties.readEpoch('job')).toBe(1);
    await wait(20);
    expect(await duties.readEpoch('job')).toBe(1);
  });

  test('is left to the process that has it, and comes when this one leaves', async () => {
    const first = startAlone();
    expect(await first.readEpoch('job')).toBe(1);
    const second = startAlone();
    for (let seconds = 0; seconds < 20; seconds += 1) {
      await wait(1);
      expect(await second.readEpoch('job')).toBeUndefined();
    }
    await first.leave('job');
    await wait(1);
    expect(await second.readEpoch('job')).toBe(1);
  });

  test('is had by one of those that join at the same moment, and only when the others are visible', async () => {
    const all = [startAlone(), startAlone(), startAlone()];
    const readAll = () => Promise.all(all.map((each) => each.readEpoch('job')));
    expect(await readAll()).toEqual([undefined, undefined, undefined]);
    for (let seconds = 0; seconds < 20; seconds += 1) {
      await wait(1);
      expect((await readAll()).filter((epoch) => epoch !== undefined).length).toBeLessThanOrEqual(1);
    }
    expect((await readAll()).filter((epoch) => epoch !== undefined)).toHaveLength(1);
  });

  test('stays with the process that took it when the row of one that joined earlier comes late', async () => {
    const committed = Promise.withResolvers<void>();
    let beats = 0;
    const slow: DutyStore = {
      nameMember: table.nameMember,
      dismissAll: table.dismissAll,
      readMembers: table.readMembers,
      beat: async (rows) => {
        const stamped = rows.map((row) => ({ ...row, joinedAtMs: row.joinedAtMs ?? table.nowMs() }));
        beats += 1;
        if (beats === 1) {
          await committed.promise;
        }
        await table.beat(stamped);
      },
    };
    const late = startAlone(slow);
    await wait(0.5);
    const first = startAlone();
    expect(await first.readEpoch('job')).toBe(1);
    committed.resolve();
    for (let seconds = 0; seconds < 20; seconds += 1) {
      await wait(1);
      expect(await late.readEpoch('job')).toBeUndefined();
      expect(await first.readEpoch('job')).toBe(1);
    }
  });
});

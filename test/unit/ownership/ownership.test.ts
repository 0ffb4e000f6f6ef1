import { describe, expect, it, vi } from 'vitest';
import { joinPair, createOwnership, type Ownership } from '../../../src/ownership/ownership.ts';
import type { TraceKey } from '../../../src/store/contracts/stores.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';

const keys = Array.from({ length: 2000 }, (_, n) => ({
  tenant: '',
  traceId: n.toString(16).padStart(32, '0'),
}));

const CELL = joinPair('default', 'a');

/** Members whose clocks the test moves. */
function scene() {
  const store = new MemoryStore(0);
  let localMs = 0;
  const owner = (member: string, pairs: readonly string[] = [CELL]) =>
    createOwnership(store.members, { member, pairs, monotonicMs: () => localMs });
  return {
    store,
    owner,
    pass: (ms: number) => {
      localMs += ms;
      store.clockMs += ms;
    },
    /** Passes time while members beat. */
    live: async (ms: number, ...members: readonly Ownership[]) => {
      for (let passed = 0; passed < ms; passed += 3_000) {
        localMs += 3_000;
        store.clockMs += 3_000;
        for (const member of members) {
          await member.beat();
        }
      }
    },
  };
}

const owns = (ownership: Ownership, key: TraceKey, scorer = 'a') =>
  ownership.claim(key)?.owns('default', scorer) === true;

/** Takes a claim of a trace that the member owns now. */
function claimOne(ownership: Ownership, which: (key: TraceKey) => boolean = () => true) {
  const key = keys.find((each) => owns(ownership, each) && which(each));
  const claim = key === undefined ? null : ownership.claim(key);
  if (claim === null) {
    throw new Error('the member owns no such trace');
  }
  return claim;
}

describe('ownership', () => {
  it('beats along with another beat of its process when its last one is two seconds old, and never joins so', async () => {
    const { store, owner, pass } = scene();
    const beat = vi.spyOn(store.members, 'beat');
    const one = owner('one');
    one.beatAlong();
    expect(beat).not.toHaveBeenCalled();
    await one.beat();
    pass(1_900);
    one.beatAlong();
    expect(beat).toHaveBeenCalledTimes(1);
    pass(100);
    one.beatAlong();
    expect(beat).toHaveBeenCalledTimes(2);
    await one.leave();
    pass(9_000);
    one.beatAlong();
    expect(beat).toHaveBeenCalledTimes(3);
  });

  it('gives each trace to exactly one member, and each member a fair share', async () => {
    const { owner, live } = scene();
    const owners = [owner('a'), owner('b'), owner('c')];
    for (const each of owners) {
      await each.beat();
    }
    await live(3_000, ...owners);

    expect(keys.filter((key) => owners.filter((each) => owns(each, key)).length !== 1)).toEqual([]);
    for (const each of owners) {
      expect(keys.filter((key) => owns(each, key)).length).toBeGreaterThan(keys.length / 6);
    }
  });

  it('shares a scorer that a living member takes up, after the others know, and leaves one that it gives up', async () => {
    const { owner, live } = scene();
    const added = joinPair('default', 'b');
    const [a, b] = [owner('a', [CELL, added]), owner('b')];
    await a.beat();
    await b.beat();
    await live(45_000, a, b);
    const claim = claimOne(b);
    expect(b.holdMs(true)).toBe(0);

    b.setPairs([CELL, added]);
    expect(b.holdMs(true)).toBeGreaterThan(0);
    await live(6_000, a, b);
    expect(keys.filter((key) => owns(a, key, 'b') === owns(b, key, 'b'))).toEqual([]);
    expect(keys.some((key) => owns(b, key, 'b'))).toBe(true);
    await expect(claim.check()).resolves.toBeUndefined();

    b.setPairs([added]);
    await live(6_000, a, b);
    expect(keys.filter((key) => !owns(a, key) || owns(b, key))).toEqual([]);
  });

  it('moves only the share of a new member', async () => {
    const { owner, live } = scene();
    const [a, b, c] = [owner('a'), owner('b'), owner('c')];
    await b.beat();
    await a.beat();
    const before = keys.filter((key) => owns(a, key));
    await c.beat();
    await live(3_000, a);

    expect(keys.filter((key) => owns(a, key) && !before.includes(key))).toEqual([]);
  });

  it('moves the share of a leaving member at once', async () => {
    const { owner, live } = scene();
    const [a, b] = [owner('a'), owner('b')];
    await b.beat();
    await a.beat();
    const generation = a.generation();
    await b.leave();
    await live(3_000, a);

    expect(a.generation()).toBeGreaterThan(generation);
    expect(keys.every((key) => owns(a, key))).toBe(true);
    expect(a.shards()).toBeNull();
  });

  it('does not come back by a beat after it left', async () => {
    const { store, owner, live } = scene();
    const a = owner('a');
    await a.beat();
    await a.leave();
    await live(6_000, a);

    const { members } = await store.members.beat('b', { pairs: [] });
    expect(members.find(({ name }) => name === 'a')).toMatchObject({ isLeaving: true });
  });

  it('does not come back by the check of work that hung until it had left', async () => {
    const { store, owner, pass } = scene();
    const a = owner('a');
    await a.beat();
    const claim = claimOne(a);
    await a.leave();
    pass(11_000);
    await expect(claim.check()).rejects.toMatchObject({ code: 'cancelled' });

    const { members } = await store.members.beat('b', { pairs: [] });
    expect(members.find(({ name }) => name === 'a')).toMatchObject({ isLeaving: true });
  });

  it('tells the others of new scorers at once, also when a beat is under way', async () => {
    const { store, owner, pass } = scene();
    const added = joinPair('default', 'b');
    const a = owner('a');
    await a.beat();
    pass(3_000);
    const beating = a.beat();
    a.setPairs([CELL, added]);
    await beating;
    await a.beat();

    const { members } = await store.members.beat('b', { pairs: [] });
    expect(members.find(({ name }) => name === 'a')?.pairs).toEqual([CELL, added]);
  });

  it('gives a scorer only to members that have it', async () => {
    const { owner, live } = scene();
    const old = owner('old');
    const added = owner('new', [CELL, joinPair('default', 'b')]);
    await old.beat();
    await added.beat();
    await live(3_000, old, added);

    expect(keys.every((key) => owns(added, key, 'b'))).toBe(true);
    expect(keys.some((key) => owns(old, key, 'b'))).toBe(false);
    expect(keys.filter((key) => owns(old, key) === owns(added, key))).toEqual([]);
    expect(added.shares().map(({ pairs, shards }) => [pairs, shards === null])).toEqual([
      [[CELL], false],
      [[joinPair('default', 'b')], true],
    ]);
  });

  it('knows the scorers of others, and of a member that ended for a minute', async () => {
    const { owner, live, pass } = scene();
    const [a, b] = [owner('a'), owner('b', [joinPair('default', 'b')])];
    await b.beat();
    await a.beat();
    expect(a.isKnown('default', 'a')).toBe(true);
    expect(a.isKnown('default', 'b')).toBe(true);
    expect(a.isKnown('default', 'c')).toBe(false);

    await b.leave();
    await live(30_000, a);
    expect(a.isKnown('default', 'b')).toBe(true);
    pass(60_000);
    await a.beat();
    expect(a.isKnown('default', 'b')).toBe(false);
  });
});

describe('a claim', () => {
  it('stays with a process that was too busy to beat, when no other process lived meanwhile', async () => {
    const { owner, pass } = scene();
    const busy = owner('busy');
    await busy.beat();
    const claim = claimOne(busy);
    pass(60_000);

    await expect(claim.check()).resolves.toBeUndefined();
  });

  it('ends for a process that was stalled while another one lived, for good', async () => {
    const { owner, live } = scene();
    const [stalled, other] = [owner('stalled'), owner('other')];
    await stalled.beat();
    await other.beat();
    await live(3_000, stalled, other);
    const claim = claimOne(stalled);
    await live(45_000, other);

    await expect(claim.check()).rejects.toMatchObject({ code: 'cancelled' });
    await live(3_000, stalled, other);
    await expect(claim.check()).rejects.toMatchObject({ code: 'cancelled' });
    await expect(stalled.claim(claim.key)?.check()).resolves.toBeUndefined();
  });

  it('ends for a stalled process also when its loop beats before the check', async () => {
    const { owner, live } = scene();
    const [stalled, other] = [owner('stalled'), owner('other')];
    await stalled.beat();
    await other.beat();
    const claim = claimOne(stalled);
    await live(45_000, other);
    await stalled.beat();

    await expect(claim.check()).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('stays for the handover when a new member takes the trace, and ends then', async () => {
    const { owner, live } = scene();
    const [a, b] = [owner('a'), owner('b')];
    await a.beat();
    const all = keys.map((key) => a.claim(key)!);
    await b.beat();
    await live(3_000, a, b);
    const lost = all.filter(({ key }) => owns(b, key));
    expect(lost.length).toBeGreaterThan(100);

    await live(15_000, a, b);
    await expect(Promise.all(lost.map((claim) => claim.check()))).resolves.toBeDefined();
    expect(a.claim(lost[0]!.key)).toBeNull();
    await live(6_000, a, b);
    for (const claim of lost) {
      await expect(claim.check()).rejects.toMatchObject({ code: 'cancelled' });
    }
  });

  it('ends when the trace went to another member and came back', async () => {
    const { owner, live } = scene();
    const [a, b] = [owner('a'), owner('b')];
    await a.beat();
    const claims = keys.map((key) => a.claim(key)!);
    await b.beat();
    await live(3_000, a, b);
    const lost = claims.find(({ key }) => owns(b, key))!;
    await b.leave();
    await live(3_000, a);

    expect(owns(a, lost.key)).toBe(true);
    await expect(lost.check()).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('a new member', () => {
  it('leaves older traces to their former owner until it cannot work on them any more', async () => {
    const { owner, live } = scene();
    const [a, b] = [owner('a'), owner('b')];
    await a.beat();
    expect(a.holdMs(false)).toBe(0);
    await b.beat();
    expect(b.holdMs(false)).toBe(30_000);
    expect(b.holdMs(true)).toBe(30_000);

    await live(6_000, a, b);
    expect(b.holdMs(true)).toBe(0);
    expect(b.holdMs(false)).toBe(24_000);
    await live(24_000, a, b);
    expect(b.holdMs(false)).toBe(0);
  });

  it('does not wait for a member that left or stopped beating', async () => {
    const { owner, live } = scene();
    const [a, b, c] = [owner('a'), owner('b'), owner('c')];
    await a.beat();
    await b.beat();
    await c.beat();
    await b.leave();
    await live(15_000, c);
    expect(c.holdMs(false)).toBe(15_000);
    await live(3_000, c);

    expect(c.holdMs(false)).toBe(0);
  });
});

describe('a beat ahead of the store’s clock', () => {
  it('of another member does not count, so that its traces are not left alone', async () => {
    const { store, owner, live } = scene();
    store.clockMs += 7_200_000;
    await owner('future').beat();
    store.clockMs -= 7_200_000;
    const a = owner('a');
    await a.beat();
    await live(3_000, a);

    expect(keys.every((key) => owns(a, key))).toBe(true);
    expect(a.holdMs(false)).toBe(0);
  });

  it('of the process itself does not hide it from the others: it takes another name', async () => {
    const { store, owner, live } = scene();
    const [a, b] = [owner('a'), owner('b')];
    store.clockMs += 7_200_000;
    await a.beat();
    const claim = claimOne(a);
    store.clockMs -= 7_200_000;
    await b.beat();
    await live(3_000, a, b);
    await live(3_000, a, b);

    expect(keys.filter((key) => owns(a, key) === owns(b, key))).toEqual([]);
    await expect(claim.check()).rejects.toMatchObject({ code: 'cancelled' });
  });
});

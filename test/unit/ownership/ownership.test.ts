import { describe, expect, it } from 'vitest';
import { createOwnership } from '../../../src/ownership/ownership.ts';
import type { MemberStore } from '../../../src/store/contracts/stores.ts';

const keys = Array.from({ length: 2000 }, (_, n) => ({
  tenant: '',
  traceId: n.toString(16).padStart(32, '0'),
}));

/** Members that beat by a clock that the test moves. */
function scene() {
  const clock = { nowMs: 0 };
  const beats = new Map<string, number>();
  const members: MemberStore = {
    async beat(member, { ttlMs, leaving = false }) {
      if (leaving) {
        beats.delete(member);
      } else {
        beats.set(member, clock.nowMs);
      }
      return [...beats].filter(([, at]) => clock.nowMs - at <= ttlMs).map(([name]) => name);
    },
  };
  const owner = (member: string) => createOwnership(members, { member, monotonicMs: () => clock.nowMs });
  return { clock, owner };
}

describe('ownership', () => {
  it('gives each trace to exactly one member, and each member a fair share', async () => {
    const { owner } = scene();
    const owners = [owner('a'), owner('b'), owner('c')];
    for (const each of [...owners, ...owners]) {
      await each.beat();
    }

    expect(keys.filter((key) => owners.filter((each) => each.owns(key)).length !== 1)).toEqual([]);
    for (const each of owners) {
      expect(keys.filter((key) => each.owns(key)).length).toBeGreaterThan(keys.length / 6);
    }
  });

  it('moves only the share of a new member', async () => {
    const { owner } = scene();
    const [a, b, c] = [owner('a'), owner('b'), owner('c')];
    await b.beat();
    await a.beat();
    const before = keys.filter((key) => a.owns(key));
    await c.beat();
    await a.beat();

    expect(keys.filter((key) => a.owns(key) && !before.includes(key))).toEqual([]);
  });

  it('moves the share of a leaving member at once', async () => {
    const { owner } = scene();
    const [a, b] = [owner('a'), owner('b')];
    await b.beat();
    await a.beat();
    await b.leave();

    expect(await a.beat()).toBe(true);
    expect(keys.every((key) => a.owns(key))).toBe(true);
  });

  it('stays with a process that was too busy to beat, when no other process took over', async () => {
    const { clock, owner } = scene();
    const busy = owner('busy');
    await busy.beat();
    clock.nowMs += 60_000;

    await expect(busy.check(keys[0]!)).resolves.toBeUndefined();
  });

  it('passes from a process that was too busy to beat to the others; the process notices at its next check', async () => {
    const { clock, owner } = scene();
    const [busy, other] = [owner('busy'), owner('other')];
    await busy.beat();
    clock.nowMs += 60_000;
    await other.beat();
    const lost = keys.filter((key) => !sharedByBoth(key));

    function sharedByBoth(key: (typeof keys)[number]): boolean {
      return busy.owns(key) && !other.owns(key);
    }

    expect(lost).toHaveLength(keys.length);
    const outcomes = await Promise.allSettled(keys.map((key) => busy.check(key)));
    const kept = outcomes.filter((outcome) => outcome.status === 'fulfilled').length;
    expect(kept).toBeGreaterThan(keys.length / 4);
    expect(kept).toBeLessThan((keys.length * 3) / 4);
  });

  it('reports changed members once, also when a check found them', async () => {
    const { clock, owner } = scene();
    const [a, b] = [owner('a'), owner('b')];
    await a.beat();
    clock.nowMs += 14_000;
    await b.beat();
    await a.check(keys.find((key) => b.owns(key))!).catch(() => undefined);

    expect(await a.beat()).toBe(true);
    expect(await a.beat()).toBe(false);
  });
});

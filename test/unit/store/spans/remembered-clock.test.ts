import { describe, expect, it } from 'vitest';
import { rememberClock } from '../../../../src/store/spans/own-spans.ts';

const START_MS = 1_800_000_000_000;

/** A store whose clock is `ahead` of the monotonic clock, and whose replies take `replyMs`. */
function buildStore() {
  const store = { monotonicMs: 0, aheadMs: START_MS, replyMs: 0, asked: 0, isDown: false };
  const spans = {
    async nowMs() {
      store.asked += 1;
      if (store.isDown) {
        throw new Error('the store is down');
      }
      const nowMs = store.monotonicMs + store.aheadMs;
      store.monotonicMs += store.replyMs;
      return nowMs;
    },
  };
  const clock = rememberClock(spans, () => store.monotonicMs);
  const readAt = (monotonicMs: number) => {
    store.monotonicMs = monotonicMs;
    return clock.nowMs();
  };
  return { store, clock, readAt };
}

describe("the remembered clock of the store's time", () => {
  it('asks the store every 10 s, and goes on in between', async () => {
    const { store, readAt } = buildStore();

    expect(await readAt(0)).toBe(START_MS);
    expect(await readAt(9_999)).toBe(START_MS + 9_999);
    expect(store.asked).toBe(1);
    expect(await readAt(10_000)).toBe(START_MS + 10_000);
    expect(store.asked).toBe(2);
  });

  it('asks once for all who read at the same time', async () => {
    const { store, clock } = buildStore();

    expect(await Promise.all([clock.nowMs(), clock.nowMs(), clock.nowMs()])).toEqual([
      START_MS,
      START_MS,
      START_MS,
    ]);
    expect(store.asked).toBe(1);
  });

  it("follows the store's clock when that is set, within 10 s", async () => {
    const { store, readAt } = buildStore();
    await readAt(0);

    store.aheadMs -= 3_600_000;

    expect(await readAt(5_000)).toBe(START_MS + 5_000);
    expect(await readAt(10_000)).toBe(START_MS - 3_600_000 + 10_000);
  });

  it('is not set back by a slow reply', async () => {
    const { store, clock, readAt } = buildStore();
    await readAt(0);
    store.replyMs = 8_000;

    expect(await readAt(10_000)).toBe(START_MS + 18_000);
    expect(await clock.nowMs()).toBe(START_MS + 18_000);
  });

  it('throws while the store is down, and asks again', async () => {
    const { store, readAt } = buildStore();
    store.isDown = true;
    await expect(readAt(0)).rejects.toThrow('the store is down');

    store.isDown = false;

    expect(await readAt(1_000)).toBe(START_MS + 1_000);
  });
});

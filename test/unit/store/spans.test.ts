import { describe, expect, it } from 'vitest';
import type { TraceActivity } from '../../../src/store/contracts/stores.ts';
import type { Database } from '../../../src/store/database.ts';
import { rememberClock } from '../../../src/store/spans/own-spans.ts';
import { toLog } from '../../../src/store/spans/read-traces.ts';
import { SeenMemory, seenParams } from '../../../src/store/spans/span-tables.ts';

const SECOND_MS = 1_000;

function anActivity(traceId: string, firstArrivalMs: number, lastArrivalMs: number): TraceActivity {
  return {
    tenant: '',
    traceId,
    firstArrivalMs,
    lastArrivalMs,
    firstStartUnixNano: 0n,
    lastEndUnixNano: 0n,
    rootSeen: true,
    agentSeen: true,
    errorSeen: false,
  };
}

function buildMemory() {
  const clock = { ms: 0 };
  return { clock, memory: new SeenMemory(() => clock.ms) };
}

const buildKeys = (...ids: string[]) => ids.map((traceId) => ({ tenant: '', traceId }));

describe('the memory of arrivals', () => {
  it('finds the bounds of traces that it knows all', () => {
    const { memory } = buildMemory();
    memory.remember([anActivity('a', 5_000, 6_000), anActivity('b', 3_000, 4_000)]);

    expect(memory.find(buildKeys('a', 'b'))).toEqual({ firstMs: 3_000, lastMs: 6_000 });
    expect(memory.find(buildKeys('a', 'b', 'c'))).toBeUndefined();
    expect(memory.find([])).toBeUndefined();
    expect(memory.find([{ tenant: 'other', traceId: 'a' }])).toBeUndefined();
  });

  it('forgets a trace after ten minutes, when late spans may lie outside of its bounds', () => {
    const { memory, clock } = buildMemory();
    memory.remember([anActivity('a', 0, SECOND_MS)]);

    clock.ms = 10 * 60 * SECOND_MS - 1;
    expect(memory.find(buildKeys('a'))).toBeDefined();
    clock.ms += 1;

    expect(memory.find(buildKeys('a'))).toBeUndefined();
  });

  it('drops its oldest traces when it is full', () => {
    const { memory } = buildMemory();
    memory.remember([anActivity('old', 0, 0)]);
    memory.remember(Array.from({ length: 10_000 }, (_, index) => anActivity(`t${index}`, 0, 0)));

    expect(memory.find(buildKeys('old'))).toBeUndefined();
    expect(memory.find(buildKeys('t0', 't9999'))).toBeDefined();
  });

  it('saves the query for the bounds, in seconds', async () => {
    const { memory } = buildMemory();
    memory.remember([anActivity('a', 1_500, 2_500)]);
    let asked = 0;
    const database = {
      rows: async () => {
        asked += 1;
        return [{ seenFrom: 7, seenTo: 8 }];
      },
    } as unknown as Database;

    expect(await seenParams(database, buildKeys('a'), memory)).toMatchObject({ seenFrom: 1, seenTo: 2 });
    expect(asked).toBe(0);
    expect(await seenParams(database, buildKeys('a', 'b'), memory)).toMatchObject({ seenFrom: 7, seenTo: 8 });
    expect(asked).toBe(1);
  });
});

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

/** A row of otel_logs in the order in which it is read. */
function logRow(eventName: string, attributes: Record<string, string>): unknown[] {
  const head = ['', 'aa'.repeat(16), 'bb'.repeat(8), '1', 'INFO', 9, 'agent', '{}', {}, 'scope', '1'];
  return [...head, attributes, eventName];
}

describe('a row of logs', () => {
  it.each([
    ['the column', 'gen_ai.choice', {}, 'gen_ai.choice'],
    ['the column rather than the attribute', 'gen_ai.choice', { 'event.name': 'other' }, 'gen_ai.choice'],
    ['the attribute of older emitters', '', { 'event.name': 'gen_ai.choice' }, 'gen_ai.choice'],
    ['neither', '', {}, ''],
  ])('has the name of its event from %s', (_, column, attributes, expected) => {
    expect(toLog(logRow(column, attributes)).log.eventName).toBe(expected);
  });
});

import { describe, expect, it } from 'vitest';
import { MAX_TRACKED_IDS, Tail, type ReadyTrace } from '../../../src/readiness/tail.ts';
import { checkReadiness, OVERLAP_MS } from '../../../src/readiness/readiness.ts';
import type { Arrival } from '../../../src/store/contracts/stores.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { agentSpan, newTraceId } from '../../support/scoring/scoring-world.ts';
import { fc } from '../../support/fast-check.ts';

const settings = { decisionWaitMs: 5_000, maxWaitMs: 900_000 };

function arrival(parts: Partial<Arrival> = {}): Arrival {
  return {
    tenant: '',
    traceId: 't',
    firstArrivalMs: 0,
    lastArrivalMs: 0,
    spanIds: ['root'],
    parentIds: [],
    rootSeen: true,
    agentSeen: true,
    ...parts,
  };
}

/** Reads the arrivals, and returns the traces that are ready. */
async function readReady(tail: Tail): Promise<readonly ReadyTrace[]> {
  const { nowMs } = await tail.tick();
  return tail.release(nowMs);
}

describe('the tail', () => {
  it('reads back over the maximum wait at its start, so that a restart loses no trace', async () => {
    const store = new MemoryStore();
    const early = newTraceId();
    store.ingest([agentSpan(early, 'b', { parent: 'a', says: 'x' })]);
    store.clockMs += settings.maxWaitMs;
    expect(await readReady(new Tail(store.stores.spans, settings))).toMatchObject([
      { traceId: early, because: 'quiet' },
    ]);
  });

  it('releases a trace once, however often its arrivals are read again', async () => {
    const store = new MemoryStore();
    const tail = new Tail(store.stores.spans, settings);
    store.ingest([agentSpan(newTraceId(), 'a', { says: 'x' })]);
    const released: unknown[] = [];
    for (let second = 0; second < 200; second += 1) {
      store.clockMs += 1_000;
      released.push(...(await readReady(tail)));
    }
    expect(released).toHaveLength(1);
    expect(tail.waiting()).toBe(0);
  });

  it('continues where it was after an outage of the store, and asks for a sweep after a long outage', async () => {
    const store = new MemoryStore();
    const tail = new Tail(store.stores.spans, settings);
    await tail.tick();
    store.failing = () => true;
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })]);
    store.clockMs += 120_000;
    await expect(tail.tick()).rejects.toThrow(/away/);
    store.failing = () => false;
    const { nowMs, gap } = await tail.tick();
    expect(gap).toBe(false);
    expect(tail.release(nowMs)).toMatchObject([{ traceId }]);
    store.clockMs += settings.maxWaitMs + 2 * OVERLAP_MS;
    expect(await tail.tick()).toMatchObject({ gap: true });
  });

  it('reads the last seconds at each tick, and all that may have committed late every ten seconds', async () => {
    const store = new MemoryStore();
    const overlaps: number[] = [];
    const { spans } = store.stores;
    const tail = new Tail(
      {
        nowMs: () => spans.nowMs(),
        arrivals(fromMs, untilMs) {
          overlaps.push(store.clockMs - fromMs);
          return spans.arrivals(fromMs, untilMs);
        },
      },
      settings,
    );
    await tail.tick();
    for (let second = 0; second < 20; second += 1) {
      store.clockMs += 1_000;
      await tail.tick();
    }
    const short = Array.from({ length: 9 }, () => 6_000);
    const whole = OVERLAP_MS + 10_000;
    expect(overlaps).toEqual([settings.maxWaitMs + OVERLAP_MS, ...short, whole, ...short, whole]);
  });

  it('asks for no sweep while it reads in time, however short the maximum wait is', async () => {
    const store = new MemoryStore();
    const tail = new Tail(store.stores.spans, { decisionWaitMs: 500, maxWaitMs: 1_000 });
    const gaps: boolean[] = [];
    for (let second = 0; second < 30; second += 1) {
      gaps.push((await tail.tick()).gap);
      store.clockMs += 1_000;
    }
    expect(gaps).not.toContain(true);
  });

  it('finds an arrival that committed thirty seconds after its stamp', async () => {
    const store = new MemoryStore();
    const tail = new Tail(store.stores.spans, settings);
    const traceId = newTraceId();
    await tail.tick();
    store.ingest([agentSpan(traceId, 'a', { says: 'x' })], { heldBackMs: 30_000 });
    const released: ReadyTrace[] = [];
    for (let second = 0; second < 45; second += 1) {
      store.clockMs += 1_000;
      released.push(...(await readReady(tail)));
    }
    expect(released).toMatchObject([{ traceId }]);
  });

  it('releases every agent trace exactly once, in any order of its inserts', async () => {
    const piece = fc.record({
      trace: fc.nat(3),
      span: fc.integer({ min: 1, max: 5 }),
      atSecond: fc.nat(60),
      heldBackMs: fc.nat(30_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 20 }), async (pieces) => {
        const store = new MemoryStore();
        const tail = new Tail(store.stores.spans, settings);
        const ids = Array.from({ length: 4 }, newTraceId);
        const first = new Map<string, number>();
        for (let second = 0; second < 200; second += 1) {
          for (const { trace, span, heldBackMs } of pieces.filter((each) => each.atSecond === second)) {
            const parent = span === 1 ? {} : { parent: 's1' };
            store.ingest([agentSpan(ids[trace]!, `s${span}`, { ...parent, says: 'x' })], { heldBackMs });
          }
          store.clockMs += 1_000;
          for (const { traceId, reopened } of await readReady(tail)) {
            first.set(traceId, (first.get(traceId) ?? 0) + (reopened ? 0 : 1));
          }
        }
        const waited = pieces.filter(({ trace }) => {
          const spans = pieces.filter((each) => each.trace === trace).map((each) => each.span);
          return spans.every((span) => span !== 1) || spans.includes(1);
        });
        for (const { trace } of waited) {
          expect(first.get(ids[trace]!)).toBe(1);
        }
      }),
      { numRuns: 30 },
    );
  });
});

/** Creates a tail for so many waiting traces. `add` lets it read arrivals. */
function feed(maxWaiting = 2) {
  const arrivals: Arrival[] = [];
  const set = new Tail(
    { nowMs: async () => 0, arrivals: async () => arrivals.splice(0) },
    settings,
    maxWaiting,
  );
  const add = async (...read: Arrival[]) => {
    arrivals.push(...read);
    await set.tick();
  };
  return { set, add };
}

describe('the waiting traces of the tail', () => {
  it('leaves traces beyond its limit to the sweep, and counts them', async () => {
    const { set, add } = feed();
    await add(...['a', 'b', 'c'].map((traceId) => arrival({ traceId })));
    expect(set.waiting()).toBe(2);
    expect(set.spilled()).toBe(1);
    expect(set.release(5_000).map((trace) => trace.traceId)).toEqual(['a', 'b']);
    await add(arrival({ traceId: 'c' }));
    expect(set.release(5_000).map((trace) => trace.traceId)).toEqual(['c']);
  });

  it('tells the time until a number of agent traces is ready, whatever the order of their arrivals', async () => {
    const { set, add } = feed(9);
    const ofAgents = [7_000, 1_000, 4_000].map((ms, index) =>
      arrival({ traceId: String(index), firstArrivalMs: ms, lastArrivalMs: ms }),
    );
    await add(...ofAgents, arrival({ traceId: 'http', agentSeen: false }));
    expect(set.nextReadyInMs(7_000)).toBe(-2_000);
    expect([1, 2, 3, 4].map((traces) => set.batchReadyInMs(7_000, traces))).toEqual([
      -1_000,
      2_000,
      5_000,
      null,
    ]);
  });

  it('opens a trace again for a new span, even one with an earlier stamp', async () => {
    const { set, add } = feed();
    await add(arrival({ lastArrivalMs: 1_000 }));
    expect(set.release(6_000)).toMatchObject([{ reopened: false }]);
    await add(arrival({ lastArrivalMs: 1_000 }));
    expect(set.release(12_000)).toEqual([]);
    await add(arrival({ spanIds: ['child'], parentIds: ['root'], rootSeen: false, lastArrivalMs: 500 }));
    expect(set.release(12_000)).toMatchObject([{ traceId: 't', because: 'ended', reopened: true }]);
  });

  it('opens a trace again for a span that was sent again: its decision has to be written anew', async () => {
    const { set, add } = feed();
    await add(arrival());
    set.release(5_000);
    await add(arrival({ firstArrivalMs: 20_000, lastArrivalMs: 20_000 }));
    expect(set.release(24_000)).toEqual([]);
    expect(set.release(25_000)).toMatchObject([{ traceId: 't', reopened: true }]);
  });

  it('forgets released traces once their arrivals are not read any more', async () => {
    const { set, add } = feed();
    await add(arrival());
    set.release(5_000);
    set.release(200_000);
    await add(arrival({ firstArrivalMs: 200_000, lastArrivalMs: 200_000, rootSeen: false }));
    expect(set.release(205_000)).toEqual([]);
    expect(set.release(230_000)).toMatchObject([{ because: 'quiet', reopened: false }]);
  });

  it('does not return traces without an agent', async () => {
    const { set, add } = feed();
    await add(arrival({ agentSeen: false }));
    expect(set.release(5_000)).toEqual([]);
    expect(set.waiting()).toBe(0);
  });

  it('waits for a trace of very many spans without keeping all their ids', async () => {
    const { set, add } = feed();
    const spanIds = Array.from({ length: MAX_TRACKED_IDS + 1 }, (_, index) => String(index));
    await add(arrival({ spanIds, parentIds: ['never'] }));
    expect(set.release(5_000)).toMatchObject([{ because: 'ended' }]);
  });
});

const state = { rootSeen: true, parentMissing: false, quietMs: 0, ageMs: 0 };

describe('readiness', () => {
  it('waits a decision wait after the root has ended', () => {
    expect(checkReadiness({ ...state, quietMs: 4_999 }, settings)).toBeNull();
    expect(checkReadiness({ ...state, quietMs: 5_000 }, settings)).toBe('ended');
  });

  it('waits for a parent that has not come, to the maximum wait', () => {
    const missing = { ...state, parentMissing: true, quietMs: 800_000 };
    expect(checkReadiness({ ...missing, ageMs: 899_999 }, settings)).toBeNull();
    expect(checkReadiness({ ...missing, ageMs: 900_000 }, settings)).toBe('max_wait');
  });

  it('waits six times as long without a root', () => {
    const rootless = { ...state, rootSeen: false, parentMissing: true };
    expect(checkReadiness({ ...rootless, quietMs: 29_999 }, settings)).toBeNull();
    expect(checkReadiness({ ...rootless, quietMs: 30_000 }, settings)).toBe('quiet');
  });

  it('never waits longer than the maximum, and stays ready as time passes', () => {
    const any = fc.record({
      rootSeen: fc.boolean(),
      parentMissing: fc.boolean(),
      quietMs: fc.nat(1_000_000),
      ageMs: fc.nat(1_000_000),
    });
    fc.assert(
      fc.property(any, fc.nat(1_000_000), (each, laterMs) => {
        const now = checkReadiness(each, settings);
        const later = checkReadiness(
          { ...each, quietMs: each.quietMs + laterMs, ageMs: each.ageMs + laterMs },
          settings,
        );
        expect(each.ageMs < settings.maxWaitMs || now !== null).toBe(true);
        expect(now === null || later !== null).toBe(true);
      }),
    );
  });
});

import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { computeBackoffMs } from '../../../src/scoring/attempt/attempt-failure.ts';
import { RetrySchedule } from '../../../src/scoring/live/retries.ts';
import { CommitRounds } from '../../../src/scoring/record/group-commit.ts';
import { readSlices, ReadMemory } from '../../../src/scoring/read/read-slices.ts';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import { createJudgeSlots, WorkQueue, type RunSlots } from '../../../src/scoring/live/queue.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  newTraceId,
  CountingScorer,
  buildLiveMode,
  createTestScoring,
  readTestTrace,
  buildRule,
} from '../../support/scoring/scoring-world.ts';
import { shareLookups } from '../../../src/scoring/read/lookups.ts';
import type { Decision } from '../../../src/domain/decision.ts';
import { joinTraceKey, type TraceKey } from '../../../src/store/contracts/stores.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';

const keyOf = (traceId: string) => ({ tenant: '', traceId });

describe('the work queue', () => {
  it('returns ready traces before the traces of a sweep', () => {
    const queue = new WorkQueue(() => 0);
    queue.push(keyOf('swept'), 'sweep');
    queue.push(keyOf('live'), 'live');
    expect(queue.take(9).map((item) => item.traceId)).toEqual(['live', 'swept']);
  });

  it('has a trace once, and again after it is done when new spans came', () => {
    const queue = new WorkQueue(() => 0);
    queue.push(keyOf('a'), 'sweep');
    queue.push(keyOf('a'), 'live');
    const taken = queue.take(9);
    expect(taken).toHaveLength(1);
    queue.push({ ...keyOf('a'), reread: true }, 'live');
    expect(queue.take(9)).toEqual([]);
    queue.done(taken);
    expect(queue.take(9)).toEqual([{ ...keyOf('a'), reread: true, readyAtMs: 0 }]);
  });

  it('has a trace that a sweep found during its run again, too: the run may leave out other scorers', () => {
    const queue = new WorkQueue(() => 0);
    queue.push(keyOf('a'), 'live');
    const taken = queue.take(9);
    queue.push(keyOf('a'), 'sweep');
    queue.push(keyOf('b'), 'live');
    queue.done(taken);
    expect(queue.take(9).map((item) => item.traceId)).toEqual(['b', 'a']);
  });

  it('drops its oldest trace for a new one when it is full, and refuses a trace of a sweep', () => {
    const queue = new WorkQueue(() => 0, 2);
    expect(queue.push(keyOf('a'), 'live')).toBe(true);
    expect(queue.push(keyOf('swept'), 'sweep')).toBe(true);
    expect(queue.push(keyOf('b'), 'live')).toBe(false);
    expect(queue.push(keyOf('again'), 'sweep')).toBe(false);
    expect(queue.take(9).map((item) => item.traceId)).toEqual(['a', 'b']);
    expect(queue.spilled()).toBe(2);
  });

  it('counts the age of the oldest trace from the time at which it was ready', () => {
    const queue = new WorkQueue(() => 1_000);
    expect(queue.oldestWaitMs()).toBeNull();
    queue.push(keyOf('now'), 'live');
    queue.push({ ...keyOf('swept'), readyAtMs: 400 }, 'sweep');
    expect(queue.oldestWaitMs()).toBe(600);
    queue.push({ ...keyOf('now'), readyAtMs: 100 }, 'live');
    expect(queue.oldestWaitMs()).toBe(900);
    queue.take(1);
    expect(queue.oldestWaitMs()).toBe(600);
  });

  it('counts the age of a trace that had no room, until a sweep has found it again', () => {
    const queue = new WorkQueue(() => 1_000, 1);
    queue.push({ ...keyOf('old'), readyAtMs: 300 }, 'sweep');
    queue.push({ ...keyOf('new'), readyAtMs: 900 }, 'live');
    expect(queue.oldestWaitMs()).toBe(700);
    queue.take(1);
    queue.beginSweep();
    expect(queue.oldestWaitMs()).toBe(700);
    queue.push({ ...keyOf('old'), readyAtMs: 300 }, 'sweep');
    queue.push({ ...keyOf('older'), readyAtMs: 200 }, 'sweep');
    expect(queue.endSweep()).toBe(true);
    expect(queue.oldestWaitMs()).toBe(800);
    queue.take(1);
    queue.beginSweep();
    expect(queue.endSweep()).toBe(false);
    expect(queue.oldestWaitMs()).toBeNull();
  });

  describe('with traces that wait for room', () => {
    const slots: RunSlots = { pending: () => 0, low: 1, high: 2 };

    function queueWaiting(...names: readonly string[]) {
      const queue = new WorkQueue(() => 0);
      for (const name of names) {
        queue.push(keyOf(name), 'live');
        const taken = queue.take(1);
        taken.forEach((item) => queue.leave(item, [{ slots, runs: 2 }]));
        queue.done(taken);
      }
      return queue;
    }

    it('returns them from both ends, each once, within the room', () => {
      const queue = queueWaiting('a', 'b', 'c', 'd');
      expect(queue.take(9)).toEqual([]);
      expect(queue.queued()).toBe(4);
      const oldest = queue.takeWaiting(slots, { end: 'oldest', limit: 9, runs: 4 });
      expect(oldest).toMatchObject([{ item: { traceId: 'a' }, runs: 2 }, { item: { traceId: 'b' } }]);
      const newest = queue.takeWaiting(slots, { end: 'newest', limit: 1, runs: 9 });
      expect(newest).toMatchObject([{ item: { traceId: 'd' } }]);
      expect(queue.waiting(slots)).toBe(1);
      expect(queue.inFlight()).toBe(3);
    });

    it('returns one trace whose runs are more than the room: it would wait for ever', () => {
      const queue = queueWaiting('a', 'b');
      expect(queue.takeWaiting(slots, { end: 'oldest', limit: 9, runs: 1 })).toHaveLength(1);
    });

    it('scores a trace with new spans as a whole', () => {
      const queue = queueWaiting('a');
      queue.push({ ...keyOf('a'), reread: true }, 'live');
      expect(queue.waiting(slots)).toBe(0);
      expect(queue.take(9)).toEqual([{ ...keyOf('a'), reread: true, readyAtMs: 0 }]);
    });

    it('returns a trace that waits in two stocks for either, once, and counts it as one', () => {
      const other: RunSlots = { ...slots };
      const queue = queueWaiting();
      for (const name of ['a', 'b', 'c']) {
        queue.push(keyOf(name), 'live');
        const taken = queue.take(1);
        const waiting = [
          { slots, runs: 2 },
          { slots: other, runs: 1 },
        ];
        taken.forEach((item) => queue.leave(item, waiting));
        queue.done(taken);
      }
      expect(queue.queued()).toBe(3);
      const ofOther = queue.takeWaiting(other, { end: 'oldest', limit: 1, runs: 9 });
      expect(ofOther).toMatchObject([{ item: { traceId: 'a' }, runs: 1 }]);
      const ofStock = queue.takeWaiting(slots, { end: 'oldest', limit: 9, runs: 9 });
      expect(ofStock).toMatchObject([{ item: { traceId: 'b' }, runs: 2 }, { item: { traceId: 'c' } }]);
      expect(queue.awaitedSlots()).toEqual([]);
      expect(queue.queued()).toBe(0);
    });

    it('drops a trace from every stock in which it waits, when the queue is full', () => {
      const other: RunSlots = { ...slots };
      const queue = new WorkQueue(() => 0, 1);
      queue.push(keyOf('old'), 'live');
      const taken = queue.take(1);
      const waiting = [slots, other].map((each) => ({ slots: each, runs: 1 }));
      taken.forEach((item) => queue.leave(item, waiting));
      queue.done(taken);
      expect(queue.push(keyOf('new'), 'live')).toBe(false);
      expect(queue.awaitedSlots()).toEqual([]);
      expect(queue.take(9)).toMatchObject([{ traceId: 'new' }]);
    });

    it('forgets them when it is cleared, those of traces under way too', () => {
      const queue = queueWaiting('a');
      queue.push(keyOf('b'), 'live');
      const taken = queue.take(1);
      taken.forEach((item) => queue.leave(item, [{ slots, runs: 2 }]));
      queue.clear();
      queue.done(taken);
      expect(queue.queued()).toBe(0);
    });
  });
});

describe('the schedule of retries', () => {
  it('returns each trace at each of its times, and once for times that are due together', () => {
    const retries = new RetrySchedule();
    retries.add(keyOf('a'), 200);
    retries.add(keyOf('a'), 100);
    retries.add(keyOf('a'), 150);
    retries.add(keyOf('b'), 300);
    expect(retries.due(99)).toEqual([]);
    expect(retries.due(100)).toMatchObject([{ traceId: 'a' }]);
    expect(retries.nextMs()).toBe(150);
    expect(retries.due(299)).toMatchObject([{ traceId: 'a' }]);
    expect(retries.due(300)).toMatchObject([{ traceId: 'b' }]);
    expect(retries.size()).toBe(0);
  });

  it('reads a trace again once, not at each of its times', () => {
    const retries = new RetrySchedule();
    retries.add({ ...keyOf('a'), reread: true }, 100);
    retries.add(keyOf('a'), 200);
    expect(retries.due(100)).toMatchObject([{ reread: true }]);
    expect(retries.due(200)).toMatchObject([{ reread: false }]);
  });

  it('is bounded', () => {
    const retries = new RetrySchedule(1);
    retries.add(keyOf('a'), 1);
    retries.add(keyOf('b'), 1);
    expect(retries.size()).toBe(1);
  });
});

describe('waiting before a retry', () => {
  it('doubles from ten seconds to an hour, and is at least the wait that the provider asked for', () => {
    expect([1, 2, 3, 20].map((attempts) => computeBackoffMs(attempts, undefined, 0))).toEqual([
      10_000, 20_000, 40_000, 3_600_000,
    ]);
    expect(computeBackoffMs(1, 90_000, 0)).toBe(90_000);
    expect(computeBackoffMs(1, undefined, 0.5)).toBe(11_000);
  });
});

describe('the stock of judged runs', () => {
  it('gives places to the newest and the oldest runs in turn', async () => {
    const slots = createJudgeSlots({ concurrency: 1, newestShare: 0.5, monotonicMs: () => 0 });
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const runs = [slots.run('newest', () => gate.promise)];
    for (const name of ['new1', 'new2', 'new3']) {
      runs.push(slots.run('newest', async () => void order.push(name)));
    }
    for (const name of ['old1', 'old2', 'old3']) {
      runs.push(slots.run('oldest', async () => void order.push(name)));
    }
    expect(slots.pending()).toBe(7);
    gate.resolve();
    await Promise.all(runs);
    expect(order).toEqual(['new3', 'old1', 'new2', 'old2', 'new1', 'old3']);
    expect(slots.pending()).toBe(0);
  });

  it('says how long a run has waited, and when more runs should be prepared', async () => {
    let nowMs = 0;
    const slots = createJudgeSlots({ concurrency: 1, newestShare: 0.5, monotonicMs: () => nowMs });
    let calls = 0;
    slots.onLow(() => (calls += 1));
    const gate = Promise.withResolvers<void>();
    const runs = Array.from({ length: slots.low + 1 }, () => slots.run('newest', () => gate.promise));
    nowMs = 700;
    expect(slots.waitMs()).toBe(700);
    gate.resolve();
    await Promise.all(runs);
    expect(calls).toBe(slots.low);
    expect(slots.waitMs()).toBe(0);
  });

  it('passes on the error of a run and goes on', async () => {
    const slots = createJudgeSlots({ concurrency: 1, newestShare: 0, monotonicMs: () => 0 });
    await expect(slots.run('oldest', () => Promise.reject(new Error('bad')))).rejects.toThrow('bad');
    await expect(slots.run('oldest', async () => 1)).resolves.toBe(1);
  });
});

describe('the memory of read content', () => {
  const aTrace = (size: number): TraceData => ({ traceId: newTraceId(), spans: [], logs: [], size });

  it('lets a read wait until earlier content is released', async () => {
    const memory = new ReadMemory(100);
    const large = aTrace(101);
    memory.add([large]);
    let isReading = false;
    const waits = memory.waitForRoom().then(() => (isReading = true));
    await turn();
    expect(isReading).toBe(false);
    memory.release(large);
    await waits;
    expect(memory.hasRoom()).toBe(true);
  });

  it('asks for fewer traces when they are large', () => {
    const memory = new ReadMemory(Infinity);
    expect(memory.nextReadSize()).toBe(50);
    memory.add([aTrace(1_000), aTrace(3_000)]);
    expect(memory.nextReadSize()).toBe(1_000);
    memory.add([aTrace(8 * 1024 * 1024)]);
    expect(memory.nextReadSize()).toBe(2);
  });
});

describe('writing in groups', () => {
  it('joins the items that come during a write', async () => {
    const groups: number[][] = [];
    const gate = Promise.withResolvers<void>();
    const commit = new CommitRounds().add<number>(async (items) => {
      groups.push([...items]);
      await gate.promise;
    });
    const writes = [commit.write([1]), commit.write([2]), commit.write([3, 4])];
    gate.resolve();
    await Promise.all(writes);
    expect(groups).toEqual([[1], [2, 3, 4]]);
  });

  it('writes the good ones of a group that is refused', async () => {
    const written: number[] = [];
    const gate = Promise.withResolvers<void>();
    const commit = new CommitRounds().add<number>(async (items) => {
      await gate.promise;
      if (items.includes(2)) {
        throw new AppError('bad row', { code: 'store_rejected', stage: 'store', retryable: false });
      }
      written.push(...items);
    });
    const writes = [1, 2, 3].map((item) => commit.write([item]));
    gate.resolve();
    const results = await Promise.allSettled(writes);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(written).toEqual([1, 3]);
  });

  it('fails all of a group while the store is away, and continues afterwards', async () => {
    let isAway = true;
    const commit = new CommitRounds().add<number>(async () => {
      if (isAway) {
        throw new StoreUnavailableError('away');
      }
    });
    await expect(commit.write([1])).rejects.toThrow('away');
    isAway = false;
    await expect(commit.write([1])).resolves.toBeUndefined();
  });
});

describe('writing in groups with waits', () => {
  const PACE = { everyMs: 2_000, busyEveryMs: 500, manyItems: 3, gatherMs: 50 };

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A group commit, and the times of its writes with their items. */
  function buildCommit() {
    const beganMs = performance.now();
    const writes: { atMs: number; items: readonly number[] }[] = [];
    const rounds = new CommitRounds(PACE);
    const write = async (items: readonly number[]) => {
      writes.push({ atMs: Math.round(performance.now() - beganMs), items });
    };
    return { rounds, commit: rounds.add(write), next: rounds.add(write), writes };
  }

  it('gathers the first rows for a moment, and the next ones until the last write is old', async () => {
    const { commit, writes } = buildCommit();

    void commit.write([1]);
    await vi.advanceTimersByTimeAsync(30);
    void commit.write([2]);
    await vi.advanceTimersByTimeAsync(100);
    void commit.write([3]);
    await vi.advanceTimersByTimeAsync(1_900);
    expect(writes).toEqual([{ atMs: 50, items: [1, 2] }]);
    await vi.advanceTimersByTimeAsync(20);

    expect(writes[1]).toEqual({ atMs: 2_050, items: [3] });
  });

  it('takes along the rows that wait for slower rounds of the same table, each once', async () => {
    const { commit, writes } = buildCommit();
    const write = async (items: readonly number[]) => void writes.push({ atMs: 0, items });
    const quick = new CommitRounds({ ...PACE, gatherMs: 20 }).add(write, commit);
    const all = [commit.write([1]), quick.write([2])];
    await vi.advanceTimersByTimeAsync(50);
    await Promise.all(all);
    const alone = commit.write([3]);
    await vi.advanceTimersByTimeAsync(2_000);
    await alone;

    expect(writes.map(({ items }) => items)).toEqual([[2, 1], [3]]);
  });

  it('writes rows that follow the rows of another table in the same round', async () => {
    const { commit, next, writes } = buildCommit();

    const both = commit.write([1]).then(() => next.write([2]));
    await vi.advanceTimersByTimeAsync(50);
    await both;

    expect(writes).toEqual([
      { atMs: 50, items: [1] },
      { atMs: 50, items: [2] },
    ]);
  });

  it('waits no longer than half a second when many rows wait', async () => {
    const { commit, writes } = buildCommit();
    void commit.write([1]);
    await vi.advanceTimersByTimeAsync(100);

    void commit.write([2]);
    await vi.advanceTimersByTimeAsync(100);
    void commit.write([3, 4]);
    await vi.advanceTimersByTimeAsync(1_000);

    expect(writes[1]).toEqual({ atMs: 550, items: [2, 3, 4] });
    void commit.write([5]);
    await vi.advanceTimersByTimeAsync(100);
    expect(writes[2]?.items).toEqual([5]);
  });

  it('writes at once as soon as the process stops', async () => {
    const { rounds, commit, writes } = buildCommit();
    void commit.write([1]);
    await vi.advanceTimersByTimeAsync(100);
    const second = commit.write([2]);

    rounds.hurry();
    await second;
    await commit.write([3]);

    expect(writes.map(({ items }) => items)).toEqual([[1], [2], [3]]);
    expect(performance.now()).toBeLessThan(writes.length * 1_000);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('reading in slices', () => {
  it('reads every trace once, fewer at a time when they are large', async () => {
    const store = new MemoryStore();
    const ids = Array.from({ length: 120 }, newTraceId);
    for (const traceId of ids) {
      store.ingest(
        Array.from({ length: 500 }, (_, index) =>
          agentSpan(traceId, `s${String(index).padStart(4, '0')}`, { parent: 'r' }),
        ),
      );
    }
    const read: string[] = [];
    for await (const slice of readSlices(store.stores.spans, ids.map(keyOf))) {
      read.push(...slice.map((each) => each.key.traceId));
    }
    expect(read).toEqual(ids);
    expect(store.reads.map((keys) => keys.length)).toEqual([50, 40, 30]);
  });

  it('returns the error of the trace that cannot be read, and the spans of the other traces', async () => {
    const bad = newTraceId();
    const ids = [newTraceId(), bad, newTraceId()];
    const read = async (keys: readonly { traceId: string }[]) => {
      if (keys.some((each) => each.traceId === bad)) {
        throw new AppError('too many spans', { code: 'input_too_large', stage: 'store', retryable: false });
      }
      return new Map();
    };
    const outcomes: string[] = [];
    for await (const slice of readSlices({ read }, ids.map(keyOf))) {
      outcomes.push(...slice.map((each) => ('error' in each ? each.error.code : 'read')));
    }
    expect(outcomes).toEqual(['read', 'input_too_large', 'read']);
  });
});

const buildKeys = (count: number, from = 0): TraceKey[] =>
  Array.from({ length: count }, (_, index) => ({ tenant: '', traceId: `trace ${from + index}` }));

/** Look-ups of decisions that end when the test says so; only the traces with an odd number have decisions. */
function buildLookups() {
  const asked: TraceKey[][] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const { stores } = new MemoryStore();
  const decisions = {
    ...stores.decisions,
    async ofTraces(keys: readonly TraceKey[]) {
      asked.push([...keys]);
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      const odd = keys.filter(({ traceId }) => Number(traceId.split(' ')[1]) % 2 === 1);
      return new Map(odd.map((key): [string, Decision[]] => [joinTraceKey(key), []]));
    },
  };
  const shared = shareLookups({ ...stores, decisions }).decisions;
  const end = async (index: number, error?: Error) => {
    const gate = gates[index];
    if (error === undefined) {
      gate?.resolve();
    } else {
      gate?.reject(error);
    }
    await turn();
    await turn();
  };
  return { asked, shared, end };
}

const sizes = (asked: readonly TraceKey[][]) => asked.map((keys) => keys.length);

describe('shared look-ups', () => {
  it('go together when they begin together, and each gets the rows of its own traces', async () => {
    const { asked, shared, end } = buildLookups();
    const first = shared.ofTraces(buildKeys(2));
    const second = shared.ofTraces(buildKeys(2, 1));
    await turn();
    await turn();
    await end(0);

    expect(sizes(asked)).toEqual([4]);
    expect([...(await first).keys()]).toEqual([joinTraceKey({ tenant: '', traceId: 'trace 1' })]);
    expect((await second).size).toBe(1);
  });

  it('go together for the failures of traces that got spans after their decision, too', async () => {
    const asked: number[] = [];
    const { stores } = new MemoryStore();
    const ofTraces = async (keys: readonly TraceKey[]) => {
      asked.push(keys.length);
      return new Map<string, never>();
    };
    const { failures } = shareLookups({ ...stores, failures: { ...stores.failures, ofTraces } });
    await Promise.all(buildKeys(40).map((key) => failures.ofTraces([key])));
    expect(asked).toEqual([40]);
  });

  it('go alone when they ask for the traces of a whole page', async () => {
    const { asked, shared, end } = buildLookups();
    const page = shared.ofTraces(buildKeys(600));
    const other = shared.ofTraces(buildKeys(3, 600));
    await turn();
    await turn();
    expect(sizes(asked)).toEqual([600, 3]);
    await end(0);
    await end(1);
    expect([(await page).size, (await other).size]).toEqual([300, 1]);
  });

  it('gather while two run, so that four thousand of one trace are four statements', async () => {
    const { asked, shared, end } = buildLookups();
    const found: Promise<unknown>[] = [];
    for (const key of buildKeys(2)) {
      found.push(shared.ofTraces([key]));
      await turn();
      await turn();
    }
    for (const key of buildKeys(4_000, 2)) {
      found.push(shared.ofTraces([key]));
      await Promise.resolve();
    }
    await turn();
    expect(sizes(asked)).toEqual([1, 1]);

    for (const index of [0, 1, 2, 3]) {
      await end(index);
    }

    expect(sizes(asked)).toEqual([1, 1, 2_000, 2_000]);
    await Promise.all(found);
  });

  it('fail together, and the next ones begin', async () => {
    const { asked, shared, end } = buildLookups();
    const failing = [shared.ofTraces(buildKeys(1)), shared.ofTraces(buildKeys(1))];
    await turn();
    await turn();
    const failed = Promise.allSettled(failing);
    await end(0, new Error('away'));
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);

    const next = shared.ofTraces(buildKeys(1, 1));
    await turn();
    await turn();
    await end(1);

    expect((await next).size).toBe(1);
    expect(sizes(asked)).toEqual([2, 1]);
  });

  it('of no traces ask nothing', async () => {
    const { asked, shared } = buildLookups();

    expect((await shared.ofTraces([])).size).toBe(0);
    expect(asked).toEqual([]);
  });
});

/** The same run, which counts the reads of its context; only the hash reads that of a run that cannot be scored. */
function counted(run: AgentRun, count: () => void): AgentRun {
  return Object.defineProperty({ ...run }, 'context', {
    get: () => {
      count();
      return run.context;
    },
  });
}

describe('the evidence of a run', () => {
  it('is read and hashed once for all rules that decide that it cannot be scored', async () => {
    const store = new MemoryStore();
    const rules = ['r1', 'r2', 'r3'].map((name) => buildRule([new CountingScorer('a')], { name }));
    const mode = await buildLiveMode(store, ...rules);
    const key = { tenant: '', traceId: newTraceId() };
    store.ingest([agentSpan(key.traceId, 'a')]);
    store.clockMs += 60_000;
    let readings = 0;
    let hashings = 0;
    const scoring = {
      ...createTestScoring(store),
      readTrace: (data: Parameters<typeof readTestTrace>[0]) => {
        readings += 1;
        const reading = readTestTrace(data);
        return { ...reading, runs: reading.runs.map((run) => counted(run, () => (hashings += 1))) };
      },
    };
    await scoreTraces(scoring, [key], mode);
    expect(store.decisions().map((row) => row.status)).toEqual(Array(3).fill('not_applicable'));
    expect(new Set(store.decisions().map((row) => row.evidenceHash)).size).toBe(1);
    expect({ readings, hashings }).toEqual({ readings: 1, hashings: 1 });
  });
});

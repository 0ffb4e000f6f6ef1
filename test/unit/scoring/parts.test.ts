import { describe, expect, it } from 'vitest';
import { AppError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import { computeBackoffMs, computeQueueWaitMs } from '../../../src/scoring/attempt/backoff.ts';
import { createGroupCommit } from '../../../src/scoring/record/group-commit.ts';
import { readSlices } from '../../../src/scoring/read/read-slices.ts';
import { createRetrySchedule } from '../../../src/scoring/live/retry-schedule.ts';
import { createWorkQueue } from '../../../src/scoring/live/work-queue.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { agentSpan, newTraceId } from '../../support/scoring/scoring-world.ts';

const key = (traceId: string) => ({ tenant: '', traceId });

describe('the work queue', () => {
  it('returns ready traces before the traces of a sweep', () => {
    const queue = createWorkQueue();
    queue.push(key('swept'), 'sweep');
    queue.push(key('live'), 'live');
    expect(queue.take(9).map((item) => item.traceId)).toEqual(['live', 'swept']);
  });

  it('has a trace once, and again after it is done when new spans came', () => {
    const queue = createWorkQueue();
    queue.push(key('a'), 'sweep');
    queue.push(key('a'), 'live');
    const taken = queue.take(9);
    expect(taken).toHaveLength(1);
    queue.push({ ...key('a'), reread: true }, 'live');
    expect(queue.take(9)).toEqual([]);
    queue.done(taken);
    expect(queue.take(9)).toEqual([{ ...key('a'), reread: true }]);
  });

  it('has a trace that a sweep found during its run again, too: the run may leave out other scorers', () => {
    const queue = createWorkQueue();
    queue.push(key('a'), 'live');
    const taken = queue.take(9);
    queue.push(key('a'), 'sweep');
    queue.push(key('b'), 'live');
    queue.done(taken);
    expect(queue.take(9).map((item) => item.traceId)).toEqual(['b', 'a']);
  });

  it('refuses a trace when it is full', () => {
    const queue = createWorkQueue(1);
    expect(queue.push(key('a'), 'live')).toBe(true);
    expect(queue.push(key('b'), 'live')).toBe(false);
    expect(queue.queued()).toBe(1);
  });
});

describe('the schedule of retries', () => {
  it('returns each trace at each of its times, and once for times that are due together', () => {
    const retries = createRetrySchedule();
    retries.add(key('a'), 200);
    retries.add(key('a'), 100);
    retries.add(key('a'), 150);
    retries.add(key('b'), 300);
    expect(retries.due(99)).toEqual([]);
    expect(retries.due(100)).toMatchObject([{ traceId: 'a' }]);
    expect(retries.nextMs()).toBe(150);
    expect(retries.due(299)).toMatchObject([{ traceId: 'a' }]);
    expect(retries.due(300)).toMatchObject([{ traceId: 'b' }]);
    expect(retries.size()).toBe(0);
  });

  it('reads a trace again once, not at each of its times', () => {
    const retries = createRetrySchedule();
    retries.add({ ...key('a'), reread: true }, 100);
    retries.add(key('a'), 200);
    expect(retries.due(100)).toMatchObject([{ reread: true }]);
    expect(retries.due(200)).toMatchObject([{ reread: false }]);
  });

  it('is bounded', () => {
    const retries = createRetrySchedule(1);
    retries.add(key('a'), 1);
    retries.add(key('b'), 1);
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

describe('waiting for room in a queue', () => {
  it('is short and random, so that deferred runs do not come back together', () => {
    expect([0, 0.5, 0.999].map(computeQueueWaitMs)).toEqual([15_000, 30_000, 44_970]);
  });
});

describe('writing in groups', () => {
  it('joins the items that come during a write', async () => {
    const groups: number[][] = [];
    const gate = Promise.withResolvers<void>();
    const commit = createGroupCommit<number>(async (items) => {
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
    const commit = createGroupCommit<number>(async (items) => {
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
    const commit = createGroupCommit<number>(async () => {
      if (isAway) {
        throw new StoreUnavailableError('away');
      }
    });
    await expect(commit.write([1])).rejects.toThrow('away');
    isAway = false;
    await expect(commit.write([1])).resolves.toBeUndefined();
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
    for await (const slice of readSlices(store.stores.spans, ids.map(key))) {
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
    for await (const slice of readSlices({ read }, ids.map(key))) {
      outcomes.push(...slice.map((each) => ('error' in each ? each.error.code : 'read')));
    }
    expect(outcomes).toEqual(['read', 'input_too_large', 'read']);
  });
});

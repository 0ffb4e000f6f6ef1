import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  CircuitBreaker,
  createProviderShare,
  createTokenBucket,
  type Permit,
  ProviderGate,
  type ProviderLimits,
} from '../../../src/judge/limits.ts';
import { JudgeError } from '../../../src/judge/judge-error.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function gate(limits: Partial<ProviderLimits> = {}) {
  return new ProviderGate(
    { concurrency: 2, maxQueued: 10, maxWaitMs: 60_000, ...limits },
    { now: () => Date.now() },
  );
}

function never(): AbortSignal {
  return new AbortController().signal;
}

/** Asks for a number of permits and says how many are there. */
function ask(of: ReturnType<typeof gate>, count: number, tokens = 1) {
  const granted: Permit[] = [];
  for (let index = 0; index < count; index += 1) {
    void of.acquire({ tokens, signal: never() }).then((permit) => granted.push(permit));
  }
  return granted;
}

describe('a provider gate', () => {
  test('lets no more calls through at once than allowed', async () => {
    const granted = ask(gate(), 5);
    await vi.advanceTimersByTimeAsync(0);
    expect(granted).toHaveLength(2);

    granted[0]?.release();
    granted[0]?.release();
    await vi.advanceTimersByTimeAsync(0);
    expect(granted).toHaveLength(3);
  });

  test('finds the number of calls that a fast provider takes, and halves it once for a crowd of time-outs', async () => {
    const adaptive = gate({ concurrency: 16, startsAt: 2, maxQueued: 1_000, maxWaitMs: 600_000 });
    const granted = ask(adaptive, 400);
    await vi.advanceTimersByTimeAsync(0);
    expect(granted).toHaveLength(2);
    const finish = async (ended: 'answered' | 'overloaded') => {
      const running = granted.splice(0);
      await vi.advanceTimersByTimeAsync(100);
      running.forEach((permit) => permit.release(1, ended));
      await vi.advanceTimersByTimeAsync(0);
      return granted.length;
    };
    for (let wave = 0; wave < 15; wave += 1) {
      await finish('answered');
    }
    expect(granted).toHaveLength(16);
    expect(await finish('overloaded')).toBe(8);
  });

  test('keeps few calls before a server that answers one after the other', async () => {
    const adaptive = gate({ concurrency: 16, startsAt: 2, maxQueued: 1_000, maxWaitMs: 600_000 });
    const granted = ask(adaptive, 200);
    let most = 0;
    for (let done = 0; done < 100; done += 1) {
      await vi.advanceTimersByTimeAsync(100);
      most = Math.max(most, granted.length - done);
      granted[done]?.release(1, 'answered');
      await vi.advanceTimersByTimeAsync(0);
    }
    expect(most).toBeLessThanOrEqual(4);
  });

  test('spreads requests over the minute', async () => {
    const granted = ask(
      gate({ concurrency: 1000, requestsPerMinute: 60, maxQueued: 1000, maxWaitMs: 600_000 }),
      200,
    );

    await vi.advanceTimersByTimeAsync(60_000);

    expect(granted.length).toBeGreaterThanOrEqual(60);
    expect(granted.length).toBeLessThanOrEqual(71);
  });

  test('spreads tokens over the minute and lets a call larger than the burst go', async () => {
    const granted = ask(gate({ concurrency: 10, tokensPerMinute: 6000 }), 2, 4000);
    await vi.advanceTimersByTimeAsync(0);
    expect(granted).toHaveLength(1);

    await vi.advanceTimersByTimeAsync(39_000);
    expect(granted).toHaveLength(1);

    await vi.advanceTimersByTimeAsync(2000);
    expect(granted).toHaveLength(2);
  });

  test('holds everybody back when the provider said to wait', async () => {
    const one = gate();
    one.pause(5000);
    const granted = ask(one, 1);

    await vi.advanceTimersByTimeAsync(4990);
    expect(granted).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(20);
    expect(granted).toHaveLength(1);
  });

  test('refuses who waits too long, retryably, and lets the next go on', async () => {
    const one = gate({ concurrency: 1, maxWaitMs: 1000 });
    const granted = ask(one, 1);
    const refused = one.acquire({ tokens: 1, signal: never() }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(1001);
    expect(await refused).toMatchObject({
      code: 'judge_rate_limited',
      retryable: true,
      retryAfterMs: 1000,
    });

    const later = ask(one, 1);
    granted[0]?.release();
    await vi.advanceTimersByTimeAsync(0);
    expect(later).toHaveLength(1);
  });

  test('refuses one more than may wait', async () => {
    const one = gate({ concurrency: 1, maxQueued: 1 });
    ask(one, 2);

    await expect(one.acquire({ tokens: 1, signal: never() })).rejects.toMatchObject({ code: 'overloaded' });
  });

  test('forgets who gives up while waiting', async () => {
    const one = gate({ concurrency: 1 });
    const granted = ask(one, 1);
    const controller = new AbortController();
    const refused = one.acquire({ tokens: 1, signal: controller.signal }).catch((error: unknown) => error);
    const third = ask(one, 1);
    await vi.advanceTimersByTimeAsync(0);

    controller.abort();
    expect(await refused).toMatchObject({ code: 'cancelled' });
    granted[0]?.release();
    await vi.advanceTimersByTimeAsync(0);

    expect(third).toHaveLength(1);
  });
});

describe('a part of the limits of a provider', () => {
  /** Asks for permits through the part without end, each for this time. Returns the number of calls, and the most at a time. */
  function callOn(of: ReturnType<typeof gate>, share: number, callMs: number) {
    const part = createProviderShare(share, { now: () => Date.now() });
    const seen = { calls: 0, most: 0, running: 0 };
    const caller = async () => {
      for (;;) {
        const permit = await part.acquire(of, { tokens: 10, signal: never() });
        seen.calls += 1;
        seen.running += 1;
        seen.most = Math.max(seen.most, seen.running);
        await new Promise((resolve) => setTimeout(resolve, callMs));
        seen.running -= 1;
        permit.release(10);
      }
    };
    Array.from({ length: 20 }, () => void caller());
    return seen;
  }

  test('leaves the other places free', async () => {
    const one = gate({ concurrency: 10, maxQueued: 100 });
    const seen = callOn(one, 0.3, 1_000);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen.most).toBe(3);
    const others = ask(one, 7);
    await vi.advanceTimersByTimeAsync(0);
    expect(others).toHaveLength(7);
  });

  test.each([1, 2])('uses its part of the time when %d places have no such part', async (concurrency) => {
    const seen = callOn(gate({ concurrency, maxQueued: 100 }), 0.3, 1_000);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(seen.most).toBe(1);
    expect(seen.calls).toBeGreaterThanOrEqual(30 * concurrency - 1);
    expect(seen.calls).toBeLessThanOrEqual(30 * concurrency + 1);
  });

  test.each([{ requestsPerMinute: 100 }, { tokensPerMinute: 1_000 }])(
    'uses its part of the minute: %o',
    async (limits) => {
      const one = gate({ concurrency: 100, maxQueued: 100, maxWaitMs: 600_000, ...limits });
      const seen = callOn(one, 0.3, 1);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(seen.calls).toBeGreaterThanOrEqual(30);
      // The minute's part, and the sixth of it that may be used at once.
      expect(seen.calls).toBeLessThanOrEqual(36);
    },
  );

  test('gives its place back when the whole refuses the call', async () => {
    const one = gate({ concurrency: 1, maxQueued: 1 });
    const part = createProviderShare(0.5, { now: () => Date.now() });
    // One call is under way, one waits.
    ask(one, 2);
    for (let n = 0; n < 3; n += 1) {
      await expect(part.acquire(one, { tokens: 1, signal: never() })).rejects.toMatchObject({
        code: 'overloaded',
      });
    }
  });
});

describe('a token bucket', () => {
  test('gives back what was reserved and not used', () => {
    const bucket = createTokenBucket(600, { now: () => 0 });
    bucket.take(100);
    expect(bucket.waitMs(50)).toBeGreaterThan(0);

    bucket.take(-60);

    expect(bucket.waitMs(50)).toBe(0);
  });

  test('of no limit never waits', () => {
    expect(createTokenBucket(undefined, { now: () => 0 }).waitMs(1e9)).toBe(0);
  });
});

describe('a circuit breaker', () => {
  const failure = new JudgeError('judge_unavailable', 'HTTP 500');

  function opened(now: () => number) {
    const breaker = new CircuitBreaker({ failures: 2, openMs: 1000 }, { now });
    breaker.ended(failure);
    breaker.ended(failure);
    return breaker;
  }

  test('opens after consecutive failures only', () => {
    const breaker = new CircuitBreaker({ failures: 2, openMs: 1000 }, { now: () => 0 });
    breaker.ended(failure);
    breaker.ended();
    breaker.ended(failure);
    expect(breaker.blocked()).toBeUndefined();

    breaker.ended(failure);
    expect(breaker.blocked()).toEqual({ failure, remainingMs: 1000 });
  });

  test('lets one probe through when its time is over', () => {
    let now = 0;
    const breaker = opened(() => now);
    now = 1000;

    expect(breaker.blocked()).toBeUndefined();
    expect(breaker.blocked()).toMatchObject({ failure });
  });

  test('closes after a good probe and opens again after a bad one', () => {
    let now = 0;
    const good = opened(() => now);
    const bad = opened(() => now);
    now = 1000;
    good.blocked();
    bad.blocked();

    good.ended();
    bad.ended(failure);

    expect(good.blocked()).toBeUndefined();
    expect(bad.blocked()).toEqual({ failure, remainingMs: 1000 });
  });

  test('lets another probe through when the first was given up', () => {
    let now = 0;
    const breaker = opened(() => now);
    now = 1000;
    breaker.blocked();

    breaker.abandoned();

    expect(breaker.blocked()).toBeUndefined();
  });
});

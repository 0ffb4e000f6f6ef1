import { JudgeError } from '../judge-error.ts';

/** Share of a minute's allowance that may be used at once. */
const BURST_SHARE = 1 / 6;

export interface ProviderLimits {
  /** Most calls at the same time. */
  readonly concurrency: number;
  /** Calls at the same time at the start; the gate then finds the number that the provider takes. Absent: always `concurrency`. */
  readonly startsAt?: number | undefined;
  readonly requestsPerMinute?: number | undefined;
  /** Input and output tokens together. */
  readonly tokensPerMinute?: number | undefined;
  /** Most calls that may wait; one more is refused. */
  readonly maxQueued: number;
  /** Longest wait of one call; then it is refused and may be retried later. */
  readonly maxWaitMs: number;
}

export interface Permit {
  /**
   * Frees the place of the call.
   * @param tokens tokens that the call really used, where known
   * @param ended how the call ended, where that tells something of the load: `overloaded` after a time-out or a rate limit
   */
  release(tokens?: number, ended?: 'answered' | 'overloaded'): void;
}

export interface ProviderGate {
  readonly limits: ProviderLimits;
  /**
   * Resolves in the order of the requests. Rejects with `overloaded`, `judge_rate_limited` (waited too long) or `cancelled`.
   */
  acquire(request: { tokens: number; signal: AbortSignal }): Promise<Permit>;
  /** Lets no call through for this time, because the provider asked for a pause. */
  pause(forMs: number): void;
}

interface Waiter {
  readonly tokens: number;
  readonly grant: () => void;
}

/** Keeps calls to one provider within its limits: concurrency, requests and tokens per minute. */
export function createProviderGate(
  limits: ProviderLimits,
  deps: { readonly now: () => number },
): ProviderGate {
  const requests = createTokenBucket(limits.requestsPerMinute, deps);
  const tokens = createTokenBucket(limits.tokensPerMinute, deps);
  const queue: Waiter[] = [];
  const places = createPlaces(limits, deps);
  let active = 0;
  let pausedUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  function pump(): void {
    clearTimeout(timer);
    timer = undefined;
    for (let next = queue[0]; next !== undefined && active < places.count(); next = queue[0]) {
      const waitMs = Math.max(pausedUntil - deps.now(), requests.waitMs(1), tokens.waitMs(next.tokens));
      if (waitMs > 0) {
        timer = setTimeout(pump, Math.ceil(waitMs));
        return;
      }
      queue.shift();
      active += 1;
      requests.take(1);
      tokens.take(next.tokens);
      next.grant();
    }
  }

  function permit(estimated: number): Permit {
    let released = false;
    const startedMs = deps.now();
    return {
      release(used = estimated, ended) {
        if (!released) {
          released = true;
          active -= 1;
          tokens.take(used - estimated);
          places.note(startedMs, ended);
          pump();
        }
      },
    };
  }

  return {
    limits,
    acquire: (request) => waitInQueue(queue, limits, request, { pump, permit: () => permit(request.tokens) }),
    pause(forMs) {
      pausedUntil = Math.max(pausedUntil, deps.now() + forMs);
    },
  };
}

/** Growth of the mean latency, to its best, that shows a queue in the server. */
const SLOWER = 1.25;
/** Growth of the best latency by each round, so that a server that stays slower is measured anew. */
const FORGET = 1.02;

/**
 * Finds how many calls a provider takes at the same time: one more after a round of calls as fast as the best round, half after a call that
 * was too much. A provider behind one slot keeps few, a fast one gets all.
 */
function createPlaces({ concurrency, startsAt }: ProviderLimits, deps: { readonly now: () => number }) {
  let count = Math.min(startsAt ?? concurrency, concurrency);
  let [calls, totalMs] = [0, 0];
  let bestMs = Number.POSITIVE_INFINITY;
  let halvedMs = Number.NEGATIVE_INFINITY;
  return {
    count: () => count,
    note(startedMs: number, ended: 'answered' | 'overloaded' | undefined): void {
      if (startsAt === undefined || ended === undefined) {
        return;
      }
      if (ended === 'overloaded') {
        // Calls of the same crowd end alike; they halve the number once.
        if (startedMs >= halvedMs) {
          count = Math.max(1, Math.floor(count / 2));
          halvedMs = deps.now();
          [calls, totalMs] = [0, 0];
        }
        return;
      }
      calls += 1;
      totalMs += deps.now() - startedMs;
      if (calls >= count) {
        const meanMs = totalMs / calls;
        bestMs = Math.min(bestMs * FORGET, meanMs);
        count = meanMs <= bestMs * SLOWER ? Math.min(concurrency, count + 1) : count;
        [calls, totalMs] = [0, 0];
      }
    },
  };
}

function waitInQueue(
  queue: Waiter[],
  limits: ProviderLimits,
  request: { tokens: number; signal: AbortSignal },
  gate: { pump: () => void; permit: () => Permit },
): Promise<Permit> {
  if (request.signal.aborted) {
    return Promise.reject(new JudgeError('cancelled', 'the question to the judge was cancelled'));
  }
  if (queue.length >= limits.maxQueued) {
    return Promise.reject(
      new JudgeError('overloaded', `${limits.maxQueued} questions already wait for this judge provider`),
    );
  }
  return new Promise((resolve, reject) => {
    const leave = (error: JudgeError): void => {
      const index = queue.indexOf(waiter);
      if (index !== -1) {
        queue.splice(index, 1);
      }
      settle();
      reject(error);
      gate.pump();
    };
    const onAbort = (): void => {
      leave(new JudgeError('cancelled', 'the question to the judge was cancelled while it waited'));
    };
    const tooLong = setTimeout(() => {
      const message = `waited ${limits.maxWaitMs} ms for the limits of this judge provider`;
      leave(new JudgeError('judge_rate_limited', message, { retryAfterMs: limits.maxWaitMs }));
    }, limits.maxWaitMs);
    const settle = (): void => {
      clearTimeout(tooLong);
      request.signal.removeEventListener('abort', onAbort);
    };
    const waiter: Waiter = {
      tokens: request.tokens,
      grant: () => {
        settle();
        resolve(gate.permit());
      },
    };
    request.signal.addEventListener('abort', onAbort, { once: true });
    queue.push(waiter);
    gate.pump();
  });
}

interface TokenBucket {
  /** Returns the milliseconds until `amount` may be taken; 0 when it may be taken now. */
  waitMs(amount: number): number;
  /**
   * Takes an amount. A negative amount gives tokens back; an amount beyond the content leaves a debt, which later calls wait
   * for.
   */
  take(amount: number): void;
}

/**
 * Creates a token bucket that refills evenly with `perMinute` a minute and holds a sixth of it. An amount larger than the
 * bucket may be taken when the bucket is full, so that no single call waits for ever. Undefined: no limit.
 */
export function createTokenBucket(
  perMinute: number | undefined,
  deps: { readonly now: () => number },
): TokenBucket {
  if (perMinute === undefined) {
    return { waitMs: () => 0, take: () => undefined };
  }
  const perMs = perMinute / 60_000;
  const capacity = Math.max(1, perMinute * BURST_SHARE);
  let level = capacity;
  let at = deps.now();

  function refill(): void {
    const now = deps.now();
    level = Math.min(capacity, level + Math.max(0, now - at) * perMs);
    at = now;
  }

  return {
    waitMs(amount) {
      refill();
      return Math.max(0, (Math.min(amount, capacity) - level) / perMs);
    },
    take(amount) {
      refill();
      level = Math.min(capacity, level - amount);
    },
  };
}

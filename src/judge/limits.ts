import { FAILURES, JudgeError } from './judge-error.ts';

/** Clock in Unix milliseconds. */
interface Clock {
  readonly now: () => number;
}

/** Why a provider gets no calls, and for how long. */
interface Blocked {
  readonly failure: JudgeError;
  readonly remainingMs: number;
}

/** `half_open`: one probe call is let through, or may be. */
export type BreakerState = 'closed' | 'half_open' | 'open';

/**
 * Stops calls to a provider that only fails. After `openMs` one probe call is let through (half-open): its success closes the
 * circuit, its failure opens it again.
 */
export class CircuitBreaker {
  /** Consecutive failures after which no calls go to the provider for `openMs`. */
  readonly #limits: { readonly failures: number; readonly openMs: number };
  readonly #clock: Clock;
  #consecutive = 0;
  #lastFailure: JudgeError | undefined;
  #openUntil = 0;
  #isProbing = false;

  constructor(limits: { readonly failures: number; readonly openMs: number }, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get #isTripped(): boolean {
    return this.#consecutive >= this.#limits.failures;
  }

  state(): BreakerState {
    if (!this.#isTripped) {
      return 'closed';
    }
    return this.#isProbing || this.openedBy() === undefined ? 'half_open' : 'open';
  }

  /** Returns the failure that opened the circuit while it is open. Changes nothing. */
  openedBy(): Blocked | undefined {
    const failure = this.#lastFailure;
    const remainingMs = this.#openUntil - this.#clock.now();
    return failure === undefined || !this.#isTripped || (remainingMs <= 0 && !this.#isProbing)
      ? undefined
      : { failure, remainingMs: Math.max(remainingMs, 1) };
  }

  /** Like `openedBy`; without a failure, the call that is made now may be the probe. */
  blocked(): Blocked | undefined {
    const opened = this.openedBy();
    this.#isProbing ||= opened === undefined && this.#isTripped;
    return opened;
  }

  ended(failure?: JudgeError): void {
    const says = failure === undefined ? 'works' : FAILURES[failure.code].provider;
    this.#isProbing = false;
    if (says === 'works') {
      this.#consecutive = 0;
      this.#lastFailure = undefined;
    } else if (says === 'fails') {
      this.#consecutive += 1;
      this.#lastFailure = failure;
      this.#openUntil = this.#clock.now() + this.#limits.openMs;
    }
  }

  /** Ends a call that was not made. */
  abandoned(): void {
    this.#isProbing = false;
  }
}

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

interface PermitRequest {
  readonly tokens: number;
  readonly signal: AbortSignal;
}

/** Keeps calls to one provider within its limits: concurrency, requests and tokens per minute. */
export class ProviderGate {
  readonly limits: ProviderLimits;
  readonly #clock: Clock;
  readonly #requests: ReturnType<typeof createTokenBucket>;
  readonly #tokens: ReturnType<typeof createTokenBucket>;
  readonly #places: ReturnType<typeof createPlaces>;
  readonly #queue: { readonly tokens: number; readonly grant: () => void }[] = [];
  #active = 0;
  #pausedUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ProviderLimits, clock: Clock) {
    this.limits = limits;
    this.#clock = clock;
    this.#requests = createTokenBucket(limits.requestsPerMinute, clock);
    this.#tokens = createTokenBucket(limits.tokensPerMinute, clock);
    this.#places = createPlaces(limits, clock);
  }

  /**
   * Resolves in the order of the requests. Rejects with `overloaded`, `judge_rate_limited` (waited too long) or `cancelled`.
   */
  async acquire({ tokens, signal }: PermitRequest): Promise<Permit> {
    const { maxQueued, maxWaitMs } = this.limits;
    if (signal.aborted) {
      throw new JudgeError('cancelled', 'the question to the judge was cancelled');
    }
    if (this.#queue.length >= maxQueued) {
      throw new JudgeError('overloaded', `${maxQueued} questions already wait for this judge provider`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request = { tokens, grant: resolve };
    const leave = (error: JudgeError): void => {
      const index = this.#queue.indexOf(request);
      if (index !== -1) {
        this.#queue.splice(index, 1);
        reject(error);
      }
    };
    const onAbort = (): void =>
      leave(new JudgeError('cancelled', 'the question to the judge was cancelled while it waited'));
    const tooLong = setTimeout(() => {
      const message = `waited ${maxWaitMs} ms for the limits of this judge provider`;
      leave(new JudgeError('judge_rate_limited', message, { retryAfterMs: maxWaitMs }));
    }, maxWaitMs);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#queue.push(request);
    this.#pump();
    try {
      await promise;
    } catch (error) {
      this.#pump();
      throw error;
    } finally {
      clearTimeout(tooLong);
      signal.removeEventListener('abort', onAbort);
    }
    return this.#permit(tokens);
  }

  /** Lets no call through for this time, because the provider asked for a pause. */
  pause(forMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.now() + forMs);
  }

  #pump(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (
      let [next] = this.#queue;
      next !== undefined && this.#active < this.#places.count();
      [next] = this.#queue
    ) {
      const waitMs = Math.max(
        this.#pausedUntil - this.#clock.now(),
        this.#requests.waitMs(1),
        this.#tokens.waitMs(next.tokens),
      );
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.#pump(), Math.ceil(waitMs));
        return;
      }
      this.#queue.shift();
      this.#active += 1;
      this.#requests.take(1);
      this.#tokens.take(next.tokens);
      next.grant();
    }
  }

  #permit(estimated: number): Permit {
    let isReleased = false;
    const startedMs = this.#clock.now();
    return {
      release: (used = estimated, ended) => {
        if (!isReleased) {
          isReleased = true;
          this.#active -= 1;
          this.#tokens.take(used - estimated);
          this.#places.note(startedMs, ended);
          this.#pump();
        }
      },
    };
  }
}

/** Growth of the mean latency, to its best, that shows a queue in the server. */
const SLOWER = 1.25;
/** Growth of the best latency by each round, so that a server that stays slower is measured anew. */
const FORGET = 1.02;

/**
 * Finds how many calls a provider takes at the same time: one more after a round of calls as fast as the best round, half after a call that
 * was too much. A provider behind one slot keeps few, a fast one gets all.
 */
function createPlaces({ concurrency, startsAt }: ProviderLimits, clock: Clock) {
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
          halvedMs = clock.now();
          [calls, totalMs] = [0, 0];
        }
        return;
      }
      calls += 1;
      totalMs += clock.now() - startedMs;
      if (calls >= count) {
        const meanMs = totalMs / calls;
        bestMs = Math.min(bestMs * FORGET, meanMs);
        count = meanMs <= bestMs * SLOWER ? Math.min(concurrency, count + 1) : count;
        [calls, totalMs] = [0, 0];
      }
    },
  };
}

/** Share of a minute's allowance that may be used at once. */
const BURST_SHARE = 1 / 6;

/**
 * Creates a token bucket that refills evenly with `perMinute` a minute and holds a sixth of it. An amount larger than the
 * bucket may be taken when the bucket is full, so that no single call waits for ever. Undefined: no limit.
 */
export function createTokenBucket(perMinute: number | undefined, clock: Clock) {
  if (perMinute === undefined) {
    return { waitMs: () => 0, take: () => undefined };
  }
  const perMs = perMinute / 60_000;
  const capacity = Math.max(1, perMinute * BURST_SHARE);
  let level = capacity;
  let at = clock.now();

  function refill(): void {
    const now = clock.now();
    level = Math.min(capacity, level + Math.max(0, now - at) * perMs);
    at = now;
  }

  return {
    /** Returns the milliseconds until `amount` may be taken; 0 when it may be taken now. */
    waitMs(amount: number): number {
      refill();
      return Math.max(0, (Math.min(amount, capacity) - level) / perMs);
    },
    /** Takes an amount. A negative one gives tokens back; one beyond the content leaves a debt, for which later calls wait. */
    take(amount: number): void {
      refill();
      level = Math.min(capacity, level - amount);
    },
  };
}

/** Part of the limits of every provider, for work that leaves the rest to other work of the process. */
export type ProviderShare = ReturnType<typeof createProviderShare>;

/**
 * Creates a part of the calls at the same time, and of the requests and tokens a minute. Less than one call at the same time is one call
 * with pauses: 0.3 of one call is a call for 3 of 10 seconds.
 * @param share above 0 and at most 1
 */
export function createProviderShare(share: number, clock: Clock) {
  const parts = new WeakMap<ProviderGate, ProviderGate>();
  const partOf = (gate: ProviderGate): ProviderGate => {
    const part = parts.get(gate) ?? createPart(gate, share, clock);
    parts.set(gate, part);
    return part;
  };
  return {
    /** Resolves when both the part and the whole allow the call. Rejects as the gate of the provider does. */
    async acquire(gate: ProviderGate, request: PermitRequest): Promise<Permit> {
      const ofPart = await partOf(gate).acquire(request);
      try {
        const ofWhole = await gate.acquire(request);
        const startedMs = clock.now();
        return {
          release(tokens, ended) {
            ofWhole.release(tokens, ended);
            const pauseMs = computePause(gate, share, clock.now() - startedMs);
            setTimeout(() => ofPart.release(tokens), pauseMs).unref();
          },
        };
      } catch (error) {
        ofPart.release(0);
        throw error;
      }
    },
  };
}

function createPart({ limits }: ProviderGate, share: number, clock: Clock): ProviderGate {
  const { concurrency, requestsPerMinute, tokensPerMinute, maxWaitMs } = limits;
  const scale = (limit: number | undefined) => (limit === undefined ? undefined : limit * share);
  return new ProviderGate(
    {
      ...limits,
      concurrency: Math.max(1, Math.floor(concurrency * share)),
      startsAt: undefined,
      requestsPerMinute: scale(requestsPerMinute),
      tokensPerMinute: scale(tokensPerMinute),
      maxWaitMs: maxWaitMs / share,
    },
    clock,
  );
}

/** Computes the pause after a call, milliseconds. It ends before the next question has waited too long. */
function computePause({ limits }: ProviderGate, share: number, callMs: number): number {
  const pauseMs = callMs * Math.max(0, 1 / (limits.concurrency * share) - 1);
  return Math.min(pauseMs, limits.maxWaitMs * (1 / share - 1));
}

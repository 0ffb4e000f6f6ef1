import { JudgeError } from '../judge-error.ts';
import { createTokenBucket } from './token-bucket.ts';

export interface ProviderLimits {
  /** Most calls at the same time. */
  readonly concurrency: number;
  readonly requestsPerMinute?: number | undefined;
  /** Input and output tokens together. */
  readonly tokensPerMinute?: number | undefined;
  /** Most calls that may wait; one more is refused. */
  readonly maxQueued: number;
  /** Longest wait of one call; then it is refused and may be retried later. */
  readonly maxWaitMs: number;
}

export interface Permit {
  /** Frees the place of the call. `tokens` is the number that the call really used, where known. */
  release(tokens?: number): void;
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
  let active = 0;
  let pausedUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  function pump(): void {
    clearTimeout(timer);
    timer = undefined;
    for (let next = queue[0]; next !== undefined && active < limits.concurrency; next = queue[0]) {
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
    return {
      release(used = estimated) {
        if (!released) {
          released = true;
          active -= 1;
          tokens.take(used - estimated);
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

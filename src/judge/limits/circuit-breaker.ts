import type { JudgeError } from '../judge-error.ts';

export interface CircuitBreakerLimits {
  /** Consecutive failures of a provider after which no calls go to it for a while. */
  readonly failures: number;
  /** Length of that pause, milliseconds. */
  readonly openMs: number;
}

/** `half_open`: one probe call is let through, or may be. */
export type BreakerState = 'closed' | 'half_open' | 'open';

export interface CircuitBreaker {
  state(): BreakerState;
  /** Returns the failure that opened the circuit while it is open. Changes nothing. */
  openedBy(): { failure: JudgeError; remainingMs: number } | undefined;
  /** Returns the failure that opened the circuit and how long it stays open, or undefined when a call may be made. */
  blocked(): { failure: JudgeError; remainingMs: number } | undefined;
  succeeded(): void;
  failed(failure: JudgeError): void;
  /** Ends a call that says nothing about the provider, e.g. because the caller stopped waiting. */
  abandoned(): void;
}

/**
 * Stops calls to a provider that only fails. After `openMs` one probe call is let through (half-open): its success closes the
 * circuit, its failure opens it again.
 */
export function createCircuitBreaker(
  limits: CircuitBreakerLimits,
  deps: { readonly now: () => number },
): CircuitBreaker {
  let consecutive = 0;
  let lastFailure: JudgeError | undefined;
  let openUntil = 0;
  let probing = false;

  function openedBy(): ReturnType<CircuitBreaker['openedBy']> {
    if (lastFailure === undefined || consecutive < limits.failures) {
      return undefined;
    }
    const remainingMs = openUntil - deps.now();
    return remainingMs <= 0 && !probing
      ? undefined
      : { failure: lastFailure, remainingMs: Math.max(remainingMs, 1) };
  }

  const isTripped = () => consecutive >= limits.failures;

  return {
    state: () => (!isTripped() ? 'closed' : probing || openedBy() === undefined ? 'half_open' : 'open'),
    openedBy,
    blocked() {
      const opened = openedBy();
      probing ||= opened === undefined && isTripped();
      return opened;
    },
    succeeded() {
      consecutive = 0;
      lastFailure = undefined;
      probing = false;
    },
    failed(failure) {
      consecutive += 1;
      lastFailure = failure;
      probing = false;
      openUntil = deps.now() + limits.openMs;
    },
    abandoned() {
      probing = false;
    },
  };
}

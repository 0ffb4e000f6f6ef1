import type { JudgeError } from '../judge-error.ts';

export interface CircuitBreakerLimits {
  /** Consecutive failures of the provider after which it is left alone. */
  readonly failures: number;
  /** For how long. */
  readonly openMs: number;
}

export interface CircuitBreaker {
  /** The failure that opened the circuit while it is open. Changes nothing. */
  openedBy(): { failure: JudgeError; remainingMs: number } | undefined;
  /** The failure that opened the circuit and how long it stays open, or undefined when a call may go. */
  blocked(): { failure: JudgeError; remainingMs: number } | undefined;
  succeeded(): void;
  failed(failure: JudgeError): void;
  /** The call told nothing about the provider, e.g. because the caller gave up. */
  abandoned(): void;
}

/**
 * Stops calling a provider that only fails. After `openMs` one probe goes through (half-open): its success closes the
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

  return {
    openedBy,
    blocked() {
      const opened = openedBy();
      probing ||= opened === undefined && consecutive >= limits.failures;
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

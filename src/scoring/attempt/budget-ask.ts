import { AppError } from '../../domain/errors.ts';
import { showUsd } from '../../domain/usd.ts';
import type { CallReservation } from '../../judge/judge-scope.ts';

/** Request for money for one judge call. */
export interface BudgetAsk {
  readonly rule: string;
  /** Budget of the rule, USD per UTC day. */
  readonly perDayUsd: number;
  readonly tenant: string;
  readonly scoreId: string;
  /** `provider/model`. */
  readonly model: string;
  /** Estimated cost, USD. */
  readonly usd: number;
  /** Reads the store's clock, Unix milliseconds. */
  readonly nowMs: () => number;
  readonly signal?: AbortSignal | undefined;
}

/** Request that has no answer yet. */
export interface PendingAsk extends BudgetAsk {
  readonly askedAtMs: number;
  readonly resolve: (reservation: CallReservation) => void;
  readonly reject: (error: unknown) => void;
}

/** State of a budget, USD. */
export interface BudgetReading {
  readonly rule: string;
  readonly spentUsd: number;
  /** Leased by running processes and not spent. */
  readonly reservedUsd: number;
  readonly capUsd: number;
}

/** Rejects a request whose caller has stopped waiting. Returns true for such a request. */
export function rejectAborted(ask: PendingAsk): boolean {
  if (ask.signal?.aborted !== true) {
    return false;
  }
  const options = { code: 'cancelled', stage: 'judge', retryable: true } as const;
  ask.reject(new AppError('the call was cancelled while it waited for money of its budget', options));
  return true;
}

/** Refusal of a request. */
export interface Refusal {
  readonly ask: BudgetAsk;
  /** Expected cost of the call, USD. */
  readonly usd: number;
  readonly reading: BudgetReading | undefined;
  readonly retryAfterMs: number;
  /** Time of the first useful retry, when the money of the day is spent. */
  readonly notBeforeMs?: number | undefined;
  /** True when the money is there, but the cost of the model's first call is not known yet. */
  readonly isFirstCallOpen?: boolean | undefined;
}

export function buildExhaustedError(refusal: Refusal): AppError {
  const { ask, usd, reading, retryAfterMs, notBeforeMs, isFirstCallOpen } = refusal;
  const { spentUsd, reservedUsd } = reading ?? { spentUsd: 0, reservedUsd: 0 };
  const cap = `${showUsd(ask.perDayUsd)} USD a UTC day`;
  const first =
    isFirstCallOpen === true
      ? '; the first call to this model is still under way, so its cost is not known yet'
      : '';
  return new AppError(
    `a call to ${ask.model} is estimated at ${showUsd(usd)} USD; of rule ${ask.rule}'s budget of ${cap}, ${showUsd(spentUsd)} USD are spent and ${showUsd(reservedUsd)} USD reserved by running processes${first}`,
    {
      code: 'budget_exhausted',
      stage: 'judge',
      retryable: true,
      retryAfterMs,
      details: { rule: ask.rule, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) },
    },
  );
}

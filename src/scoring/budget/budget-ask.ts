import { nameBudget, type BudgetCap, type BudgetCaps } from '../../domain/money/budget.ts';
import { AppError } from '../../domain/errors.ts';
import { showUsd } from '../../domain/money/usd.ts';

/** Request for money for one judge call. */
export interface BudgetAsk {
  readonly rule: string;
  /** Budget of the rule. Absent: only the shared budgets apply. */
  readonly caps?: BudgetCaps | undefined;
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

/** Request to one of the budgets that apply to a call. */
export type AccountAsk = Pick<BudgetAsk, 'model' | 'usd' | 'nowMs' | 'signal'> & {
  readonly caps: BudgetCaps;
};

/** Money that one budget reserved for a call. */
export interface AccountReservation {
  /** UTC day to which the money belongs, Unix milliseconds. */
  readonly dayMs: number;
  readonly usd: number;
  /** Books the cost: 0 when the call was not made. */
  settle(costUsd: number): void;
}

/** Request that has no answer yet. */
export interface PendingAsk extends AccountAsk {
  readonly askedAtMs: number;
  readonly resolve: (reservation: AccountReservation) => void;
  readonly reject: (error: unknown) => void;
}

/** A cap without money for further calls. */
export interface SpentCap {
  readonly cap: BudgetCap;
  /** Unix milliseconds. */
  readonly renewsAtMs: number;
}

/** Money for further calls. */
export interface BudgetRest {
  /** Money that is not spent, under all caps, USD; Infinity when nothing is known or no cap applies. */
  readonly restUsd: number;
  /** Cap that refuses further calls; of several, the one that renews last. */
  readonly spent: SpentCap | undefined;
}

/** State of a cap, USD. */
export interface BudgetReading extends BudgetCap {
  readonly spentUsd: number;
  /** Leased by running processes and not spent. */
  readonly reservedUsd: number;
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
  readonly ask: AccountAsk;
  /** Expected cost of the call, USD. */
  readonly usd: number;
  /** State of the cap that refuses. */
  readonly reading: BudgetReading;
  readonly retryAfterMs: number;
  /** Time of the first useful retry, when the money of the period is spent. */
  readonly notBeforeMs?: number | undefined;
  /** True when the money is there, but the cost of the model's first call is not known yet. */
  readonly isFirstCallOpen?: boolean | undefined;
}

export function buildExhaustedError(refusal: Refusal): AppError {
  const { ask, usd, reading, retryAfterMs, notBeforeMs, isFirstCallOpen } = refusal;
  const { scope, period, capUsd, spentUsd, reservedUsd } = reading;
  const cap = `${nameBudget(scope)} of ${showUsd(capUsd)} USD a UTC ${period}`;
  const first =
    isFirstCallOpen === true
      ? '; the first call to this model is still under way, so its cost is not known yet'
      : '';
  return new AppError(
    `a call to ${ask.model} is estimated at ${showUsd(usd)} USD; of ${cap}, ${showUsd(spentUsd)} USD are spent and ${showUsd(reservedUsd)} USD reserved by running processes${first}`,
    {
      code: 'budget_exhausted',
      stage: 'judge',
      retryable: true,
      retryAfterMs,
      details: {
        scope: scope.kind,
        name: scope.name,
        period,
        ...(notBeforeMs === undefined ? {} : { notBeforeMs }),
      },
    },
  );
}

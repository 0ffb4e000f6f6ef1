import {
  nameBudget,
  listCaps,
  type BudgetCap,
  type BudgetCaps,
  type BudgetScope,
  type ScopedBudget,
  computeBudgetDay,
  computeRenewal,
  computeNextBudgetDay,
  computeBudgetMonth,
} from '../../domain/money/budget.ts';
import { AppError } from '../../domain/errors.ts';
import { showUsd, ROUNDING_USD, roundUsd } from '../../domain/money/usd.ts';
import type { SpendingPart } from '../../store/contracts/stores.ts';
import type { JudgeCallStore } from '../../store/tables/judge-calls.ts';
import { HOUR_MS } from '../../domain/durations.ts';

/** Request for money for one judge call. */
export interface BudgetRequest {
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
export type AccountRequest = Pick<BudgetRequest, 'model' | 'usd' | 'nowMs' | 'signal'> & {
  readonly caps: BudgetCaps;
};

/** A cap without money for further calls. */
export interface SpentCap {
  readonly cap: BudgetCap;
  /** Unix milliseconds. */
  readonly renewsAtMs: number;
}

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

/**
 * Builds the error of a request that gets no money.
 * @param refusal usd: expected cost of the call; reading: state of the cap that refuses; notBeforeMs: time of the first useful retry, when
 * the money of the period is spent; isFirstCallOpen: the money is there, but the cost of the model's first call is not known yet
 */
export function buildExhaustedError(refusal: {
  readonly request: AccountRequest;
  readonly usd: number;
  readonly reading: BudgetReading;
  readonly retryAfterMs: number;
  readonly notBeforeMs?: number;
  readonly isFirstCallOpen: boolean;
}): AppError {
  const { request, usd, reading, retryAfterMs, notBeforeMs, isFirstCallOpen } = refusal;
  const { scope, period, capUsd, spentUsd, reservedUsd } = reading;
  const cap = `${nameBudget(scope)} of ${showUsd(capUsd)} USD a UTC ${period}`;
  const first = isFirstCallOpen
    ? '; the first call to this model is still under way, so its cost is not known yet'
    : '';
  return new AppError(
    `a call to ${request.model} is estimated at ${showUsd(usd)} USD; of ${cap}, ${showUsd(spentUsd)} USD are spent and ${showUsd(reservedUsd)} USD reserved by running processes${first}`,
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

/** Computes the money that caps leave for further calls. @param leastUsd cost of the cheapest call that they refused */
export function computeBudgetRest(
  readings: readonly BudgetReading[],
  leastUsd: number,
  nowMs: number,
): BudgetRest {
  const rests = readings.map((cap) => ({ cap, restUsd: cap.capUsd - cap.spentUsd }));
  const spent = rests.findLast(
    ({ cap, restUsd }) => restUsd + ROUNDING_USD < Math.max(leastUsd, cap.capUsd * BLOCK_SHARE),
  );
  return {
    restUsd: Math.min(...rests.map(({ restUsd }) => restUsd)),
    spent: spent && { cap: spent.cap, renewsAtMs: computeRenewal(spent.cap.period, nowMs) },
  };
}

/** Computes the money of a cap that is neither spent nor leased, USD. */
export function computeFree({ capUsd, spentUsd, reservedUsd }: BudgetReading): number {
  return capUsd - spentUsd - reservedUsd;
}

/** Creates the reader of the state of all caps: of every process, not only of this one. It throws what the store throws. */
export function createBudgetReader(
  store: Pick<JudgeCallStore, 'listSpending'>,
  budgets: readonly ScopedBudget[],
): { read(nowMs: number): Promise<BudgetReading[]> } {
  const caps = budgets.flatMap(listCaps);
  const hasMonths = caps.some(({ period }) => period === 'month');
  const earlier = new EarlierDays<readonly SpendingPart[]>((range) => store.listSpending(range), []);
  return {
    async read(nowMs) {
      if (caps.length === 0) {
        return [];
      }
      const dayMs = computeBudgetDay(nowMs);
      const openSinceMs = Math.max(dayMs, nowMs - OPEN_LEASE_MS);
      const range = { fromMs: dayMs, toMs: computeNextBudgetDay(dayMs), openSinceMs };
      const [today, before] = await Promise.all([
        store.listSpending(range),
        hasMonths ? earlier.read(dayMs, nowMs) : [],
      ]);
      return caps.map((cap) => buildReading(cap, today, before));
    },
  };
}

function buildReading(
  cap: BudgetCap,
  today: readonly SpendingPart[],
  before: readonly SpendingPart[],
): BudgetReading {
  const parts = today.filter((part) => isPartOfBudget(part, cap.scope));
  const earlier = cap.period === 'day' ? [] : before.filter((part) => isPartOfBudget(part, cap.scope));
  const reservedUsd = parts.reduce((sum, part) => sum + part.reservedUsd, 0);
  const bookedUsd = [...parts, ...earlier].reduce((sum, part) => sum + part.bookedUsd, 0);
  return { ...cap, spentUsd: roundUsd(bookedUsd - reservedUsd), reservedUsd: roundUsd(reservedUsd) };
}

function isPartOfBudget(part: SpendingPart, { kind, name }: BudgetScope): boolean {
  if (kind === 'rule') {
    return part.scope === '' && part.rule === name;
  }
  const isOwn = kind === 'total' || part.tenant === name;
  return isOwn && (part.scope === kind || !part.isLease);
}

/** Time after which earlier days are read again, milliseconds. Until then after midnight, they are read each time. */
const EARLIER_MS = HOUR_MS;

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
  readonly openSinceMs: number;
}

/**
 * Spending of the earlier days of a month. It hardly changes: the last calls of a day end soon after midnight. So a day needs few
 * reads of it.
 */
export class EarlierDays<T> {
  readonly #readRange: (range: Range) => Promise<T>;
  readonly #none: T;
  #known: { readonly dayMs: number; readonly readAtMs: number; readonly spending: T } | undefined;

  /** @param none spending on the first day of a month */
  constructor(readRange: (range: Range) => Promise<T>, none: T) {
    this.#readRange = readRange;
    this.#none = none;
  }

  /** Reads the spending of the month before a day. Throws what the store throws. */
  async read(dayMs: number, nowMs: number): Promise<T> {
    const monthMs = computeBudgetMonth(dayMs);
    if (monthMs === dayMs) {
      return this.#none;
    }
    const known = this.#known?.dayMs === dayMs ? this.#known : undefined;
    if (known !== undefined && known.readAtMs - dayMs > EARLIER_MS && nowMs - known.readAtMs < EARLIER_MS) {
      return known.spending;
    }
    const spending = await this.#readRange({ fromMs: monthMs, toMs: dayMs, openSinceMs: dayMs });
    this.#known = { dayMs, readAtMs: nowMs, spending };
    return spending;
  }
}

/** Longest time between two entries of a live process, milliseconds: longer than any scorer may run. */
export const OPEN_LEASE_MS = 10 * 60_000;

/** Largest block of a lease that no waiting call needs, as a part of the budget. */
export const BLOCK_SHARE = 0.01;

/** Largest such block as a part of the remaining money, so that the last money is not idle in one process. */
export const REST_SHARE = 1 / 16;

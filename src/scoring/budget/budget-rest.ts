import { ROUNDING_USD } from '../../domain/money/usd.ts';
import { BLOCK_SHARE } from './account-terms.ts';
import type { BudgetReading, BudgetRest } from './budget-ask.ts';
import { computeBudgetDay, computeRenewal } from '../../domain/money/budget.ts';

/** Cheapest call of a day that was refused because the money is spent. */
export class LeastRefusal {
  #known: { readonly dayMs: number; readonly usd: number } | undefined;

  add(usd: number, nowMs: number): void {
    const dayMs = computeBudgetDay(nowMs);
    this.#known = { dayMs, usd: Math.min(usd, this.#known?.dayMs === dayMs ? this.#known.usd : Infinity) };
  }

  /** Returns its expected cost, USD; 0 without a refusal. */
  find(nowMs: number): number {
    return this.#known?.dayMs === computeBudgetDay(nowMs) ? this.#known.usd : 0;
  }
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

/** Returns the cap whose spent money leaves too little for a call; of several, the one that renews last. */
export function findSpentCap(readings: readonly BudgetReading[], usd: number): BudgetReading | undefined {
  return readings.findLast(({ spentUsd, capUsd }) => spentUsd + usd > capUsd + ROUNDING_USD);
}

/** Returns the cap with the least money. */
export function findTightestCap(readings: readonly BudgetReading[]): BudgetReading {
  return readings.reduce((one, other) => (computeFree(other) < computeFree(one) ? other : one));
}

/** Computes the money of a cap that is neither spent nor leased, USD. */
export function computeFree({ capUsd, spentUsd, reservedUsd }: BudgetReading): number {
  return capUsd - spentUsd - reservedUsd;
}

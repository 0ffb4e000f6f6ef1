import type { BudgetCap } from './budget.ts';
import { DAY_MS } from '../durations.ts';

/** Computes the start of the UTC day of a time, Unix milliseconds. */
export function computeBudgetDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}

/** Computes the next UTC midnight, when budgets of a day are full again, Unix milliseconds. */
export function computeNextBudgetDay(nowMs: number): number {
  return computeBudgetDay(nowMs) + DAY_MS;
}

/** Computes the start of the UTC month of a time, Unix milliseconds. */
export function computeBudgetMonth(nowMs: number): number {
  const time = new Date(nowMs);
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth());
}

/** Computes the time at which a cap renews, Unix milliseconds. */
export function computeRenewal(period: BudgetCap['period'], nowMs: number): number {
  if (period === 'day') {
    return computeNextBudgetDay(nowMs);
  }
  const time = new Date(nowMs);
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + 1);
}

const DAY_MS = 86_400_000;

/** Computes the start of the UTC day of a time, Unix milliseconds. */
export function computeBudgetDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}

/** Computes the next UTC midnight, when budgets are full again, Unix milliseconds. */
export function computeNextBudgetDay(nowMs: number): number {
  return computeBudgetDay(nowMs) + DAY_MS;
}

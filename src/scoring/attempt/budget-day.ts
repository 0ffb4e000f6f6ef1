const DAY_MS = 86_400_000;

/** Start of the UTC day of a moment, Unix milliseconds. */
export function computeBudgetDay(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}

/** The next UTC midnight: when budgets are full again. */
export function nextBudgetDay(nowMs: number): number {
  return computeBudgetDay(nowMs) + DAY_MS;
}

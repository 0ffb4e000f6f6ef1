const DAY_MS = 86_400_000;

/** Start of the UTC day of a moment, Unix milliseconds. */
export function budgetDayOf(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS;
}

/** The next UTC midnight: when budgets are full again. */
export function nextBudgetDay(nowMs: number): number {
  return budgetDayOf(nowMs) + DAY_MS;
}

/** An amount for people: up to six decimals, none that say nothing. */
export function showUsd(usd: number): string {
  const shown = usd > 0 && usd < 1e-6 ? usd.toPrecision(2) : usd.toFixed(6);
  return shown.includes('.') && !shown.includes('e') ? shown.replace(/\.?0+$/, '') : shown;
}

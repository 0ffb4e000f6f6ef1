import { DAY_MS } from '../../domain/durations.ts';

const THIRTY_DAYS_MS = 30 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;
/** Largest false alarm probability of a series in a month, whatever its group allows: one month in twenty. */
const MAX_ALPHA = 0.05;

export interface Thresholds {
  /** Bound of the probability that a series has a false alarm within 30 days. */
  readonly alpha: number;
  readonly fireAt: number;
  readonly resolveAt: number;
}

/**
 * Computes thresholds from a group's allowance of false alarms. Each of its series may have one within 30 days with a
 * probability of alpha = min(0.05, budget / series), so it fires at (checks in 30 days) / alpha. A lasting change is ended by
 * mistake at most once in two weeks: that threshold is twice the checks of a week.
 * @param terms budget: false alarms allowed in 30 days over all series of the group; series: number of watched series, at least
 * 1; intervalMs: time from check to check
 */
export function thresholdsFor(terms: {
  readonly budget: number;
  readonly series: number;
  readonly intervalMs: number;
}): Thresholds {
  const alpha = Math.min(MAX_ALPHA, terms.budget / terms.series);
  return {
    alpha,
    fireAt: THIRTY_DAYS_MS / terms.intervalMs / alpha,
    resolveAt: (2 * WEEK_MS) / terms.intervalMs,
  };
}

/**
 * Divides an allowance among the tenants of its series. Each has an equal share, so that the series of one, whose names its senders
 * choose, cost the others no time. Returns the number of series by tenant that `thresholdsFor` takes.
 * @param tenants the tenant of each series
 */
export function shareByTenant(tenants: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const tenant of tenants) {
    counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
  }
  return new Map([...counts].map(([tenant, count]) => [tenant, count * counts.size]));
}

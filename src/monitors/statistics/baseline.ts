import type { Reference, ReferenceHour } from '../reference.ts';
import { HOURS_OF_DAY, HOURS_OF_WEEK, computeSlot } from './slots.ts';
import { HOUR_MS } from '../../domain/durations.ts';

/** Standard normal quantile of 0.99. */
const NORMAL_99 = 2.326_347_874;

const BLOCK_HOURS = 6;
/** Hours after which a weekly pattern is looked for: every hour of the week was seen four times. */
const WEEKLY_AFTER_HOURS = 4 * HOURS_OF_WEEK;
/** Normal quantile of 0.99: an unlucky reference causes a false alarm for at most 1 % of pins. */
const REFERENCE_QUANTILE = 2.33;
/** Tolerated standard deviations of slow movement without an explanation. */
const WOBBLE_DEVIATIONS = 3;

/** Baseline of a series: learned from its reference, then fixed. */
export interface Baseline {
  /** Mean and variance of a score. */
  readonly mean: number;
  readonly variance: number;
  readonly count: number;
  /**
   * Expected mean by slot of time: one for all, one for each hour of the day, or one for each hour of the week (`slots.ts`).
   */
  readonly slotMeans: readonly number[];
  /** Variance of the mean of slow movements (six-hour blocks) that the hour of the day does not explain. */
  readonly slowVariance: number;
}

/**
 * Pins the baseline of a gathered reference. Hours get different means only where a chi-squared test shows a difference at 1 %;
 * then their means are shrunk towards the overall mean by the reliability of each (James-Stein, empirical Bayes). The slow
 * movement is the method-of-moments estimate of DerSimonian and Laird (1986) over blocks of six hours.
 * @param reference a reference with at least one score
 */
export function pinBaseline(reference: Reference): Baseline {
  const { count, sumOfSquares, hours } = reference;
  const mean = hours.reduce((total, [, , sum]) => total + sum, 0) / count;
  const variance = Math.max(0, sumOfSquares / count - mean * mean);
  const span = (hours.at(-1)?.[0] ?? 0) - (hours[0]?.[0] ?? 0);
  const slots = span >= WEEKLY_AFTER_HOURS - 1 ? HOURS_OF_WEEK : HOURS_OF_DAY;
  const slotMeans = seasonalMeans(hours, slots, mean, variance);
  const slowVariance = slowMovement(hours, slotMeans, variance);
  return { mean, variance, count, slotMeans, slowVariance };
}

/**
 * Computes the tolerated drop: the smallest relevant drop, or the uncertainty from reference and slow movement if that is
 * larger.
 */
export function computeTolerance(baseline: Baseline, smallestDrop: number): number {
  const { variance, count, slowVariance } = baseline;
  const uncertain = (REFERENCE_QUANTILE ** 2 * variance) / count + WOBBLE_DEVIATIONS ** 2 * slowVariance;
  return Math.max(smallestDrop, Math.sqrt(uncertain));
}

function seasonalMeans(
  hours: readonly ReferenceHour[],
  slots: number,
  mean: number,
  variance: number,
): readonly number[] {
  if (variance === 0) {
    return [mean];
  }
  const seen = sumsBy(hours, (hour) => computeSlot(hour * HOUR_MS, slots));
  let heterogeneity = 0;
  let between = 0;
  for (const [count, sum] of seen.values()) {
    const deviation = sum / count - mean;
    heterogeneity += (count * deviation * deviation) / variance;
    between += (deviation * deviation - variance / count) / seen.size;
  }
  if (seen.size < 2 || heterogeneity <= chiSquared99(seen.size - 1)) {
    return [mean];
  }
  const slotVariance = Math.max(0, between);
  return Array.from({ length: slots }, (_, slot) => {
    const [count, sum] = seen.get(slot) ?? [0, 0];
    if (count === 0 || slotVariance === 0) {
      return mean;
    }
    const reliability = slotVariance / (slotVariance + variance / count);
    return mean + reliability * (sum / count - mean);
  });
}

function slowMovement(
  hours: readonly ReferenceHour[],
  slotMeans: readonly number[],
  variance: number,
): number {
  if (variance === 0) {
    return 0;
  }
  const residuals = hours.map(([hour, count, sum]): ReferenceHour => {
    const expected = slotMeans[computeSlot(hour * HOUR_MS, slotMeans.length)] ?? 0;
    return [hour, count, sum - count * expected];
  });
  const blocks = sumsBy(residuals, (hour) => Math.floor(hour / BLOCK_HOURS));
  let heterogeneity = 0;
  let total = 0;
  let squares = 0;
  for (const [count, residual] of blocks.values()) {
    heterogeneity += (residual * residual) / (count * variance);
    total += count;
    squares += count * count;
  }
  const degrees = blocks.size - 1;
  if (degrees < 1 || heterogeneity <= chiSquared99(degrees)) {
    return 0;
  }
  return (variance * (heterogeneity - degrees)) / (total - squares / total);
}

function sumsBy(
  hours: readonly ReferenceHour[],
  computeKey: (hour: number) => number,
): Map<number, readonly [count: number, sum: number]> {
  const sums = new Map<number, readonly [number, number]>();
  for (const [hour, count, sum] of hours) {
    const [countBefore, sumBefore] = sums.get(computeKey(hour)) ?? [0, 0];
    sums.set(computeKey(hour), [countBefore + count, sumBefore + sum]);
  }
  return sums;
}

/**
 * Computes the 99 % point of the chi-squared distribution: 1 % of values are above it. Wilson and Hilferty's cube-root formula
 * (PNAS 1931), within 0.5 % from 3 degrees of freedom on; none of our libraries has it.
 * @param degrees degrees of freedom, at least 1
 */
export function chiSquared99(degrees: number): number {
  const spread = 2 / (9 * degrees);
  return degrees * (1 - spread + NORMAL_99 * Math.sqrt(spread)) ** 3;
}

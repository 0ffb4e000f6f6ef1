import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import { type Bucket, sumHistogram } from '../bucket.ts';

/** Hours from the weekday of the epoch (Thursday) to Sunday, on which weeks begin here. */
const EPOCH_WEEKDAY_HOURS = 96;

/** Cycles of a baseline: none, hour of the day, hour of the week. All in UTC, without clock changes. */
const HOURS_OF_DAY = 24;
const HOURS_OF_WEEK = 168;

/** Computes the slot of a time among `slots`: 1, 24 (hour of the day) or 168 (hour of the week, from Sunday 00:00 UTC). */
export function computeSlot(timeMs: number, slots: number): number {
  if (slots === 1) {
    return 0;
  }
  const hours = Math.floor(timeMs / HOUR_MS) + (slots === HOURS_OF_WEEK ? EPOCH_WEEKDAY_HOURS : 0);
  return ((hours % slots) + slots) % slots;
}

/** Size of the reference: it is complete when all three minima are reached. */
export interface ReferenceTerms {
  readonly days: number;
  readonly minScores: number;
  /** Number of different UTC days with scores. */
  readonly minDays: number;
}

/** Scores of one hour: hours since the epoch, number of scores, sum of scores. Hours without scores have no entry. */
type ReferenceHour = readonly [hour: number, count: number, sum: number];

/** Scores in a row as blocks, whose differences tell how far neighbours are alike. */
interface Blocks {
  /** Number and sum of the scores of the open block, and of the block before it. */
  readonly open: readonly [count: number, sum: number];
  readonly before: readonly [count: number, sum: number] | null;
  /** Number, sum and sum of squares of the variances of a score that pairs of neighbouring blocks show. */
  readonly pairs: number;
  readonly sum: number;
  readonly squares: number;
}

const NO_BLOCKS: Blocks = { open: [0, 0], before: null, pairs: 0, sum: 0, squares: 0 };

/** A reference while it is gathered. It contains sums only, so that its size does not grow with traffic. */
export interface Reference {
  /** Start of the first bucket with a score; null before it. */
  readonly sinceMs: number | null;
  readonly untilMs: number;
  readonly count: number;
  readonly sumOfSquares: number;
  readonly hours: readonly ReferenceHour[];
  /** Absent in a reference that an older version stored. */
  readonly blocks?: Blocks;
}

export const EMPTY_REFERENCE: Reference = { sinceMs: null, untilMs: 0, count: 0, sumOfSquares: 0, hours: [] };

export function addToReference(
  reference: Reference,
  { startMs, scores }: Pick<Bucket, 'startMs' | 'scores'>,
): Reference {
  const { count, sum } = sumHistogram(scores);
  if (count === 0) {
    return { ...reference, untilMs: startMs };
  }
  let squares = 0;
  for (let index = 0; index < scores.values.length; index += 1) {
    squares += (scores.counts[index] ?? 0) * (scores.values[index] ?? 0) ** 2;
  }
  const hour = Math.floor(startMs / HOUR_MS);
  const last = reference.hours.at(-1);
  const hours =
    last?.[0] === hour
      ? reference.hours.with(reference.hours.length - 1, [hour, last[1] + count, last[2] + sum])
      : [...reference.hours, [hour, count, sum] as const];
  return {
    sinceMs: reference.sinceMs ?? startMs,
    untilMs: startMs,
    count: reference.count + count,
    sumOfSquares: reference.sumOfSquares + squares,
    hours,
    blocks: addToBlocks(reference.blocks ?? NO_BLOCKS, count, sum),
  };
}

/** Scores of a block, at least: more than users or documents mostly give in a row. */
const BLOCK_SCORES = 12;

function addToBlocks(blocks: Blocks, count: number, sum: number): Blocks {
  const open = [blocks.open[0] + count, blocks.open[1] + sum] as const;
  if (open[0] < BLOCK_SCORES) {
    return { ...blocks, open };
  }
  const { before, pairs, sum: total, squares } = blocks;
  if (before === null) {
    return { ...blocks, open: [0, 0], before: open };
  }
  const difference = open[1] / open[0] - before[1] / before[0];
  const variance = difference ** 2 / (1 / open[0] + 1 / before[0]);
  return {
    open: [0, 0],
    before: open,
    pairs: pairs + 1,
    sum: total + variance,
    squares: squares + variance ** 2,
  };
}

/** Describes in words what a detector waits for that learns a reference. */
export function describeLearning(reference: Reference, terms: ReferenceTerms): string {
  return describeMissing(reference, terms, reference.untilMs) ?? 'the reference is about to be pinned';
}

/** Describes in words which part of a reference is missing at a time; null when it is complete. */
export function describeMissing(reference: Reference, terms: ReferenceTerms, nowMs: number): string | null {
  if (reference.sinceMs === null) {
    return 'no score yet';
  }
  const days = (nowMs - reference.sinceMs) / DAY_MS;
  if (days < terms.days) {
    return `${days.toFixed(1)} of ${terms.days} days`;
  }
  if (reference.count < terms.minScores) {
    return `${reference.count} of ${terms.minScores} scores`;
  }
  const distinctDays = new Set(reference.hours.map(([hour]) => Math.floor((hour * HOUR_MS) / DAY_MS))).size;
  return distinctDays < terms.minDays ? `scores on ${distinctDays} of ${terms.minDays} days` : null;
}

/** Standard normal quantile of 0.99. */
const NORMAL_99 = 2.326_347_874;

const BLOCK_HOURS = 6;
/** Hours after which a weekly pattern is looked for: every hour of the week was seen four times. */
const WEEKLY_AFTER_HOURS = 4 * HOURS_OF_WEEK;
/** Normal quantile of 0.99: an unlucky reference causes a false alarm for at most 1 % of pins. */
const REFERENCE_QUANTILE = 2.33;
/** Tolerated standard deviations of slow movement without an explanation, as means of six hours show it: within them the mean moves more. */
const WOBBLE_DEVIATIONS = 3.3;

/** Baseline of a series: learned from its reference, then fixed. */
export interface Baseline {
  readonly mean: number;
  readonly variance: number;
  readonly count: number;
  /**
   * Scores that tell as much as one that is independent (design effect), at least 1: scores of one user or document in a row are alike.
   * Absent in a baseline that an older version stored.
   */
  readonly clumping?: number;
  /**
   * Expected mean by slot of time: one for all, one for each hour of the day, or one for each hour of the week.
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
  const { clumping, most } = estimateClumping(reference.blocks ?? NO_BLOCKS, variance);
  const slotMeans = seasonalMeans(hours, slots, mean, variance * most);
  const slowVariance = slowMovement(hours, slotMeans, variance * most);
  return { mean, variance, count, clumping, slotMeans, slowVariance };
}

/** Variance of a mean of quantities that overlap by a half, as a multiple of the variance of as many that do not. */
const OVERLAP = 1.5;

/**
 * Estimates how far neighbouring scores are alike: the variance of a score by the differences of neighbouring blocks, which slow movements do
 * not change (J. von Neumann, 1941), over its variance; 1 unless it is larger at 1 %. What clumps explain at most is no slow movement.
 */
function estimateClumping({ pairs, sum, squares }: Blocks, variance: number) {
  const shown = sum / Math.max(1, pairs);
  const spread = Math.max(0, squares / Math.max(1, pairs) - shown ** 2);
  const doubt = NORMAL_99 * Math.sqrt((OVERLAP * spread) / Math.max(1, pairs));
  return pairs > 1 && variance > 0 && shown - doubt > variance
    ? { clumping: shown / variance, most: (shown + doubt) / variance }
    : { clumping: 1, most: 1 };
}

/**
 * Computes the tolerated drop: the smallest relevant drop, or the uncertainty from reference and slow movement if that is
 * larger.
 */
export function computeTolerance(baseline: Baseline, smallestDrop: number): number {
  const { variance, count, clumping = 1, slowVariance } = baseline;
  const uncertain =
    (REFERENCE_QUANTILE ** 2 * variance * clumping) / count + WOBBLE_DEVIATIONS ** 2 * slowVariance;
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

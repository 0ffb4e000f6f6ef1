import type { Bucket } from './bucket.ts';
import { sumHistogram } from './bucket.ts';
import { DAY_MS, HOUR_MS } from '../domain/durations.ts';

/** Size of the reference: it is complete when all three minima are reached. */
export interface ReferenceTerms {
  readonly days: number;
  readonly minScores: number;
  /** Number of different UTC days with scores. */
  readonly minDays: number;
}

/** Scores of one hour: hours since the epoch, number of scores, sum of scores. Hours without scores have no entry. */
export type ReferenceHour = readonly [hour: number, count: number, sum: number];

/** A reference while it is gathered. It contains sums only, so that its size does not grow with traffic. */
export interface Reference {
  /** Start of the first bucket with a score; null before it. */
  readonly sinceMs: number | null;
  /** Start of the latest bucket. */
  readonly untilMs: number;
  readonly count: number;
  readonly sumOfSquares: number;
  readonly hours: readonly ReferenceHour[];
}

export const EMPTY_REFERENCE: Reference = { sinceMs: null, untilMs: 0, count: 0, sumOfSquares: 0, hours: [] };

/** Returns the reference with one more bucket. */
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
  };
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

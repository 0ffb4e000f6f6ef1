import { DAY_MS, startOfDay } from '../domain/durations.ts';

/** Days for which a split series is still watched after the last day with enough traffic. */
const KEPT_DAYS = 7;

/** Scores of a split series by day (UTC); plain data. */
export interface Traffic {
  /** Start of the day that is counted, Unix milliseconds. */
  readonly dayMs: number;
  readonly scores: number;
  /** Start of the latest day with enough scores; null without one. */
  readonly reachedMs: number | null;
}

export const NO_TRAFFIC: Traffic = { dayMs: 0, scores: 0, reachedMs: null };

export function countTraffic(
  traffic: Traffic,
  startMs: number,
  count: number,
  minDailyScores: number,
): Traffic {
  const dayMs = startOfDay(startMs);
  const scores = (dayMs === traffic.dayMs ? traffic.scores : 0) + count;
  return { dayMs, scores, reachedMs: scores >= minDailyScores ? dayMs : traffic.reachedMs };
}

/** True when a split series has enough traffic at a time; a weekend without scores does not end it. */
export function hasTraffic({ reachedMs }: Traffic, atMs: number): boolean {
  return reachedMs !== null && startOfDay(atMs) - reachedMs <= KEPT_DAYS * DAY_MS;
}

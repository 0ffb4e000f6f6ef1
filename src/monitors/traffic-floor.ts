const DAY_MS = 86_400_000;

/** A series that is split off keeps its place for so many days after the last one on which it had the traffic for it. */
const KEPT_DAYS = 7;

/** Scores of a split series by day (UTC): plain data. */
export interface Traffic {
  /** Start of the day that is counted, Unix milliseconds. */
  readonly dayMs: number;
  /** Scores of that day so far. */
  readonly scores: number;
  /** Start of the latest day that reached the floor; null for none. */
  readonly reachedMs: number | null;
}

export const NO_TRAFFIC: Traffic = { dayMs: 0, scores: 0, reachedMs: null };

/** Traffic after further scores of a bucket that begins at a time. */
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

/** Returns true when a split series has traffic of its own at a time: a weekend without scores does not end it. */
export function hasTraffic({ reachedMs }: Traffic, atMs: number): boolean {
  return reachedMs !== null && startOfDay(atMs) - reachedMs <= KEPT_DAYS * DAY_MS;
}

/** Start of the day, UTC. */
export function startOfDay(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

import type { SeriesFacets } from '../domain/series-facets.ts';
import type { Finding } from './detector.ts';
import type { Phase } from './series.ts';

/** State of a rule on a series for people. Times are Unix milliseconds. */
export interface MonitorStatus {
  /** Result of `computeRuleKey`; it changes with every change of what the rule detects. */
  readonly ruleKey: string;
  readonly group: string;
  readonly alert: string;
  readonly detector: string;
  readonly series: SeriesFacets;
  readonly phase: Phase;
  /** Begin of the phase; null before the first bucket. */
  readonly sinceMs: number | null;
  /** Id of the open incident; null without one. */
  readonly incidentId: string | null;
  /** Finding of the current or latest incident. */
  readonly finding: Finding | null;
  /** The missing part of the reference; null when it is complete or not needed. */
  readonly lacks: string | null;
  /** Mean of the latest bucket with scores, directed. */
  readonly mean: number | null;
  /** Mean that earlier scores let expect, directed; null without a reference. */
  readonly baseline: number | null;
  /** Limit of the rule: a mean, or a rate for `rate`, `scorer_errors` and `coverage`. Null for a detector without one. */
  readonly limit: number | null;
  readonly evidenceLog10: number | null;
  /** Scores folded so far. */
  readonly scores: number;
  /** Start of the latest folded bucket. */
  readonly bucketMs: number;
}

/** State of a rule on a series, with the scores that it could not fold. */
export interface MonitorStanding extends MonitorStatus {
  /** Scores of the series that came too late to be folded, in 24 hours; those of all parts of a series that a rule splits. */
  readonly lateScores: number;
  /** Start of the latest bucket with such a score; null without one. */
  readonly lastLateBucketMs: number | null;
}

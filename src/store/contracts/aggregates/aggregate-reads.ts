import type { AggregateFacet } from '../../../domain/aggregate-facets.ts';
import type { TouchedHour } from './aggregates.ts';
import type { ScoreSource } from '../../../domain/score.ts';

/** Choice of scores: any of the values of each facet. Times are Unix milliseconds: [fromMs, toMs), whole hours. */
export interface AggregateFilter extends Readonly<
  Partial<Record<AggregateFacet, readonly string[] | undefined>>
> {
  /** Absent: all tenants. */
  readonly tenant?: string | undefined;
  /** Names of score rows; absent: all. */
  readonly scorers?: readonly string[] | undefined;
  readonly source: ScoreSource;
  readonly fromMs: number;
  readonly toMs: number;
  /** Hours that are computed from the scores for this read: their aggregates lack some. Absent: none. */
  readonly lacking?: readonly TouchedHour[] | undefined;
}

export interface SummaryQuery extends AggregateFilter {
  /** Length of a bucket, whole hours; absent: one bucket for the whole range. */
  readonly bucketMs?: number | undefined;
  /** Facets that the scores are split by. */
  readonly by: readonly AggregateFacet[];
  /** Only these groups: the scorer, then the values of `by`. Absent: all. */
  readonly groups?: readonly (readonly string[])[] | undefined;
  /** Score from which a score passes. Absent: the pass line of its scorer. */
  readonly passAt?: number | undefined;
  /** Directed scores from which scores pass, by the names of rows. An absent name has the better half of the range. */
  readonly passLines?: ReadonlyMap<string, number> | undefined;
}

/** Range and direction of a scorer. */
export interface ScoreScale {
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly higherIsBetter: boolean | null;
}

/** Sums of a group of scores. Each score counts with its weight. */
export interface ScoreSums {
  readonly n: number;
  /** Scores without a weight: they count as 1 each where no score has a weight, else not at all. */
  readonly unweighted: number;
  readonly weight: number;
  readonly effectiveN: number;
  readonly mean: number | null;
}

/** Numbers of a group of scores. Each score counts with its weight. */
export interface ScoreSummary extends ScoreSums {
  readonly p10: number | null;
  readonly p50: number | null;
  readonly p90: number | null;
  /** Null without a direction, or without both a range and `passAt`. */
  readonly passRate: number | null;
}

/** Scores of one scorer in one bucket and group. */
export interface ScoreGroup extends ScoreScale {
  /** Start of the bucket, Unix milliseconds; 0 for the whole range. */
  readonly bucketMs: number;
  readonly scorer: string;
  /** Values of the facets, in the order of `by`. */
  readonly values: readonly string[];
}

export interface SumsRow extends ScoreSums, ScoreGroup {}
export interface SummaryRow extends ScoreSummary, ScoreGroup {}

/** Histogram of the scores of one scorer in a range of time. */
export interface ScoreHistogram extends ScoreScale {
  readonly n: number;
  readonly weight: number;
  readonly mean: number | null;
  /** Values in ascending order, with the scores and the weight of each. */
  readonly values: readonly number[];
  readonly counts: readonly number[];
  readonly weights: readonly number[];
}

/** Reads the aggregates of scores. */
export interface AggregateReads {
  /** Names of the scorers with scores, of a tenant or of all: those in the aggregates, and those of scores that were written since a time. */
  scorerNames(tenant: string | undefined, writtenSinceMs: number): Promise<string[]>;
  /** Returns the time of the first write of a score at or after a time, Unix milliseconds; null without one. */
  firstWrittenSince(sinceMs: number): Promise<number | null>;
  /** Counts score rows by their UTC day (start, Unix milliseconds), of a tenant or of all; versions that are not merged count separately. */
  rowsByDay(tenant?: string): Promise<ReadonlyMap<number, number>>;
  /** Sums buckets and groups, in the order of time: much faster than `summarise`, which reads histograms. */
  sum(query: SummaryQuery): Promise<SumsRow[]>;
  /** Summarises buckets and groups, in the order of time. */
  summarise(query: SummaryQuery): Promise<SummaryRow[]>;
  /** Finds the groups with the most scores, and how many there are. */
  topGroups(
    query: SummaryQuery,
    limit: number,
  ): Promise<{ readonly groups: readonly (readonly string[])[]; readonly count: number }>;
  /** Returns the histogram of the selected scores; null without scores. */
  histogram(filter: AggregateFilter): Promise<ScoreHistogram | null>;
}

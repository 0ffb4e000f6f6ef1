import type { AggregateFilter } from './aggregate-reads.ts';

/** Scores of one side of a comparison. */
export interface ComparedScores {
  readonly scorer: string;
  readonly fingerprint?: string | undefined;
  /** True: scores of people. Their mean counts for a target; of other scores, the newest does. */
  readonly isHuman: boolean;
  /** Direction of scores that have none. */
  readonly higherIsBetter: boolean;
}

/** Scores of one target on both sides, directed: 0 worst, 1 best. */
export interface ScorePair {
  readonly traceId: string;
  readonly left: number;
  readonly right: number;
}

/** Reads scores of the same targets. */
export interface ComparedScoreStore {
  /** Returns the pairs of targets whose run began in the range. Scores without a range count as from 0 to 1. */
  pairs(
    query: Omit<AggregateFilter, 'source' | 'scorers'> & {
      readonly left: ComparedScores;
      readonly right: ComparedScores;
      readonly limit: number;
    },
  ): Promise<ScorePair[]>;
}

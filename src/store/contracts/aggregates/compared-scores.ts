import type { AnswerPair } from '../../../domain/agreement/agreement.ts';
import type { AggregateFilter } from './aggregate-reads.ts';

/** Scores of one side of a comparison. */
export interface ComparedScores {
  readonly scorer: string;
  readonly fingerprint?: string | undefined;
  /** True: scores of people. Their mean and their majority count for a target (a tie passes); of other scores, the newest does. */
  readonly isHuman: boolean;
  /** Directed score from which a score passes. */
  readonly passLine: number;
  /** Direction of scores that have none. */
  readonly higherIsBetter: boolean;
}

/** Scores of one target on both sides, directed: 0 worst, 1 best. */
export interface ScorePair extends AnswerPair {
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

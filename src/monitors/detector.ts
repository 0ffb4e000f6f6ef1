import type { Bucket } from './bucket.ts';

/** Numbers of a detection that a notification carries. */
export interface Finding {
  /** Estimated begin of the change: start of a bucket, Unix milliseconds. */
  readonly changeBeganMs: number;
  /** Expected mean or rate since then; null for detectors without an expectation. */
  readonly before: number | null;
  /** Observed mean or rate since then; null without observations. */
  readonly after: number | null;
  /** Observations since then. */
  readonly count: number;
  /** Decimal logarithm of the evidence against "no change"; null where a detector weighs no evidence. */
  readonly evidenceLog10: number | null;
  /** For a change of distribution: `before` and `after` are the parts of scores at or below this one. */
  readonly cut?: number;
}

/** Result of a detector after a bucket. */
export type Verdict =
  /** Its reference is not complete: it can say nothing yet, and why. */
  | { readonly kind: 'learning'; readonly why: string }
  | { readonly kind: 'quiet' }
  /** The condition holds, and goes on to hold until the detector itself sees it gone. */
  | { readonly kind: 'breached'; readonly finding: Finding };

/** The current numbers of a series, for gauges; null where a detector has none. */
export interface Gauges {
  /** Expected mean or rate at present. */
  readonly baseline: number | null;
  readonly evidenceLog10: number | null;
}

/**
 * A detector: a pure fold over closed buckets in order of time. Its state is plain data that survives JSON, so that a
 * restart goes on where it was, and a replay of the same buckets ends in the same state.
 */
export interface Detector<State> {
  start(): State;
  step(state: State, bucket: Bucket): State;
  verdict(state: State): Verdict;
  gauges(state: State): Gauges;
}

export const QUIET: Verdict = { kind: 'quiet' };

import type { Bucket } from './bucket.ts';

/** What a detector found: the numbers that a notification carries. */
export interface Finding {
  /** When the change began, by the detector's own estimate: start of a bucket, Unix milliseconds. */
  readonly changeBeganMs: number;
  /** What was to be expected since then, a mean or a rate; null where nothing is expected but scores. */
  readonly before: number | null;
  /** What was observed since then; null where nothing was. */
  readonly after: number | null;
  /** Observations since then. */
  readonly count: number;
  /** Decimal logarithm of the evidence against "no change"; null where a detector weighs no evidence. */
  readonly evidenceLog10: number | null;
  /** For a change of distribution: `before` and `after` are the parts of scores at or below this one. */
  readonly cut?: number;
}

/** What a detector says after a bucket. */
export type Verdict =
  /** Its reference is not complete: it can say nothing yet, and why. */
  | { readonly kind: 'learning'; readonly why: string }
  | { readonly kind: 'quiet' }
  /** The condition holds, and goes on to hold until the detector itself sees it gone. */
  | { readonly kind: 'breached'; readonly finding: Finding };

/** The current numbers of a series, for gauges; null where a detector has none. */
export interface Gauges {
  /** What is expected at present: a mean, or a rate. */
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

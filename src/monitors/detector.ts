import type { Bucket } from './bucket.ts';

/** Numbers of a breached condition, for the notification. */
export interface Finding {
  /** Estimated begin of the change: start of a bucket, Unix milliseconds. */
  readonly changeBeganMs: number;
  /** Expected mean or rate since then; null for detectors without an expectation. */
  readonly before: number | null;
  /** Observed mean or rate since then; null without observations. */
  readonly after: number | null;
  /** Observations since then. */
  readonly count: number;
  /** Decimal logarithm of the evidence against "no change"; null for a detector without evidence. */
  readonly evidenceLog10: number | null;
  /** For a change of distribution: `before` and `after` are the shares of scores at or below this score. */
  readonly cut?: number;
}

/** Condition of a series after a bucket, as its detector sees it. */
export type Condition =
  /** The reference is not complete; `why` says what is missing. */
  | { readonly kind: 'learning'; readonly why: string }
  | { readonly kind: 'quiet' }
  /** The series changed. This holds until the detector itself sees that the change is over. */
  | { readonly kind: 'breached'; readonly finding: Finding };

/** Current numbers of a series, for gauges; null where a detector has none. */
export interface Gauges {
  /** Mean or rate that is expected now, as learned from earlier scores. */
  readonly baseline: number | null;
  /** Limit of the rule, for a detector that compares with one. */
  readonly limit: number | null;
  readonly evidenceLog10: number | null;
}

/**
 * A detector: a pure fold over closed buckets in order of time. Its state is plain JSON data, so that a restart continues from
 * it, and a replay of the same buckets gives the same state.
 */
export interface Detector<State> {
  start(): State;
  step(state: State, bucket: Bucket): State;
  condition(state: State): Condition;
  gauges(state: State): Gauges;
}

export const QUIET: Condition = { kind: 'quiet' };

/** Returns the finding with means as they are reported. */
export function tellMeans(finding: Finding, tell: (mean: number) => number): Finding {
  const toldOf = (mean: number | null) => (mean === null ? null : tell(mean));
  return { ...finding, before: toldOf(finding.before), after: toldOf(finding.after) };
}

/** Creates each value once for a key, and keeps it as long as the key: guards depend on their terms only. */
export function oncePer<Key extends object, Value>(create: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? create(key);
    known.set(key, value);
    return value;
  };
}

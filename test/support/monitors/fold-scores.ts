import { type Bucket, buildHistogram, NO_OUTCOMES, type Outcomes } from '../../../src/monitors/bucket.ts';
import type { Detector, Finding } from '../../../src/monitors/detector.ts';
import { thresholdsFor } from '../../../src/monitors/statistics/false-alarms.ts';
import {
  foldBucket,
  type PhaseTerms,
  type SeriesState,
  createSeries,
  type Transition,
} from '../../../src/monitors/series.ts';
import { BUCKET_MS } from '../builders/score-streams.ts';

export const MONITOR_START_MS = Date.UTC(2026, 0, 1);
export const DAY_MS = 86_400_000;

/** Thresholds of one series for one false alarm in thirty days, with checks every five minutes. */
export const ONE_SERIES = thresholdsFor({ budget: 1, series: 1, intervalMs: BUCKET_MS });

export const AT_ONCE: PhaseTerms = {
  forMs: 0,
  keepFiringForMs: 0,
  noDataAfterMs: DAY_MS,
  intervalMs: BUCKET_MS,
};

/** Builds the bucket with this index after the start. */
export function bucketAt(index: number, scores: readonly number[], outcomes?: Partial<Outcomes>): Bucket {
  return {
    startMs: MONITOR_START_MS + index * BUCKET_MS,
    scores: buildHistogram(scores),
    outcomes: { ...NO_OUTCOMES, scored: scores.length, ...outcomes },
  };
}

/** Generates many buckets with the same scores. */
export function* steadyBuckets(from: number, until: number, scores: readonly number[]): Generator<Bucket> {
  for (let index = from; index < until; index += 1) {
    yield bucketAt(index, scores);
  }
}

export interface FoldedStream<State> {
  readonly state: SeriesState<State>;
  readonly transitions: readonly Transition[];
  /** Finding of the first alert. */
  readonly finding: Finding | null;
}

/** Folds a stream of buckets into a state, by default the initial state. */
export function foldAll<State>(
  detector: Detector<State>,
  buckets: Iterable<Bucket>,
  options: { readonly terms?: PhaseTerms; readonly from?: SeriesState<State> } = {},
): FoldedStream<State> {
  let state = options.from ?? createSeries(detector);
  const transitions: Transition[] = [];
  for (const bucket of buckets) {
    const folded = foldBucket(detector, options.terms ?? AT_ONCE, state, bucket);
    state = folded.state;
    transitions.push(...folded.transitions);
  }
  return { state, transitions, finding: transitions.find(({ to }) => to === 'firing')?.finding ?? null };
}

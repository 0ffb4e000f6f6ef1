import { type Bucket, NO_OUTCOMES, NO_SCORES, sumHistogram } from './bucket.ts';
import type { Detector, Finding, Condition } from './detector.ts';

export type Phase =
  /** The reference is too small for the detector. */
  | 'learning'
  | 'ok'
  /** The condition holds, but not yet for the time that the rule requires. */
  | 'pending'
  | 'firing'
  /** The condition is over; the alert still fires until that has lasted for the time that the rule requires. */
  | 'recovering'
  /** No score for a while; this never counts as a low score. */
  | 'no_data'
  /** No score for a while, because scorer or judge fails. */
  | 'scorer_error'
  /** The rule is paused and nothing is folded. The configuration sets this phase, not a fold. */
  | 'paused';

export interface PhaseTerms {
  /** Time that the condition must last before the alert fires, milliseconds. */
  readonly forMs: number;
  /** Time that the condition must be over before the alert ends, milliseconds. */
  readonly keepFiringForMs: number;
  /** Time without a score after which a series has no data, milliseconds. */
  readonly noDataAfterMs: number;
  readonly intervalMs: number;
}

/** Whole state of a monitor on one series; plain data. */
export interface SeriesState<State> {
  readonly detector: State;
  readonly phase: Phase;
  /** Begin of the phase: end of a bucket, Unix milliseconds; null before the first bucket. */
  readonly sinceMs: number | null;
  /** Finding of the current or latest alert. */
  readonly finding: Finding | null;
  /** Start of the latest folded bucket. */
  readonly lastBucketMs: number | null;
  readonly lastScoreMs: number | null;
  /** True when an attempt failed after the latest score. */
  readonly failedSince: boolean;
  readonly scores: number;
  readonly checks: number;
}

/** Beginning or end of an alert. */
export interface Transition {
  /** End of the bucket that caused it, Unix milliseconds. */
  readonly atMs: number;
  readonly to: 'firing' | 'ok';
  readonly finding: Finding;
}

export interface Folded<State> {
  readonly state: SeriesState<State>;
  readonly transitions: readonly Transition[];
}

/** Creates the state of a series before its first bucket. */
export function createSeries<State>(detector: Detector<State>): SeriesState<State> {
  return {
    detector: detector.start(),
    phase: 'learning',
    sinceMs: null,
    finding: null,
    lastBucketMs: null,
    lastScoreMs: null,
    failedSince: false,
    scores: 0,
    checks: 0,
  };
}

/**
 * Folds one closed bucket. First folds an empty bucket for each bucket of time since the one before, because missing scores
 * count as checks. For a bucket at or before the latest folded one the state stays as it is: it was already counted, or came
 * too late.
 */
export function foldBucket<State>(
  detector: Detector<State>,
  terms: PhaseTerms,
  series: SeriesState<State>,
  bucket: Bucket,
): Folded<State> {
  if (series.lastBucketMs !== null && bucket.startMs <= series.lastBucketMs) {
    return { state: series, transitions: [] };
  }
  const first = series.lastBucketMs === null ? bucket.startMs : series.lastBucketMs + terms.intervalMs;
  if (first === bucket.startMs) {
    return foldOne(detector, terms, series, bucket);
  }
  const transitions: Transition[] = [];
  let state = series;
  const fold = (next: Bucket): void => {
    const folded = foldOne(detector, terms, state, next);
    state = folded.state;
    transitions.push(...folded.transitions);
  };
  for (let startMs = first; startMs < bucket.startMs; startMs += terms.intervalMs) {
    fold({ startMs, scores: NO_SCORES, outcomes: NO_OUTCOMES });
  }
  fold(bucket);
  return { state, transitions };
}

function foldOne<State>(
  detector: Detector<State>,
  terms: PhaseTerms,
  series: SeriesState<State>,
  bucket: Bucket,
): Folded<State> {
  const stepped = detector.step(series.detector, bucket);
  const condition = detector.condition(stepped);
  const { count } = sumHistogram(bucket.scores);
  const atMs = bucket.startMs + terms.intervalMs;
  const lastScoreMs = count > 0 ? bucket.startMs : series.lastScoreMs;
  const { scored, failed } = bucket.outcomes;
  const failedSince = (count === 0 && series.failedSince) || (failed > 0 && scored === 0);
  const silent = lastScoreMs !== null && atMs - lastScoreMs > terms.noDataAfterMs;
  const away: Phase | null = silent ? (failedSince ? 'scorer_error' : 'no_data') : null;
  const phase = nextPhase(series, condition, { atMs, terms, away });
  const finding =
    condition.kind === 'breached' && !isAlert(series.phase) ? condition.finding : series.finding;
  return {
    state: {
      detector: stepped,
      phase,
      sinceMs: phase === series.phase ? series.sinceMs : atMs,
      finding,
      lastBucketMs: bucket.startMs,
      lastScoreMs,
      failedSince,
      scores: series.scores + count,
      checks: series.checks + 1,
    },
    transitions: listTransitions(series.phase, phase, { atMs, finding }),
  };
}

/** True when an alert is open in this phase. */
export function isAlert(phase: Phase): boolean {
  return phase === 'firing' || phase === 'recovering';
}

function nextPhase(
  { phase, sinceMs }: SeriesState<unknown>,
  condition: Condition,
  { atMs, terms, away }: { atMs: number; terms: PhaseTerms; away: Phase | null },
): Phase {
  const heldMs = sinceMs === null ? 0 : atMs - sinceMs;
  if (condition.kind === 'breached') {
    if (isAlert(phase)) {
      return 'firing';
    }
    const held = phase === 'pending' ? heldMs : 0;
    return held >= terms.forMs ? 'firing' : 'pending';
  }
  if (phase === 'firing' && terms.keepFiringForMs > 0) {
    return 'recovering';
  }
  if (phase === 'recovering' && heldMs < terms.keepFiringForMs) {
    return 'recovering';
  }
  return away ?? (condition.kind === 'learning' ? 'learning' : 'ok');
}

function listTransitions(
  from: Phase,
  to: Phase,
  { atMs, finding }: { atMs: number; finding: Finding | null },
): Transition[] {
  if (finding === null || isAlert(from) === isAlert(to)) {
    return [];
  }
  return [{ atMs, to: isAlert(to) ? 'firing' : 'ok', finding }];
}

import { type Bucket, NO_OUTCOMES, NO_SCORES, sumHistogram } from '../../../src/monitors/bucket.ts';
import type { Detector } from '../../../src/monitors/detector.ts';
import { driftDetector } from '../../../src/monitors/detectors/drift.ts';
import {
  foldBucket,
  isAlert,
  type PhaseTerms,
  type SeriesState,
  createSeries,
} from '../../../src/monitors/series.ts';
import { AT_ONCE, DAY_MS, MONITOR_START_MS, ONE_SERIES } from './fold-scores.ts';
import { BUCKET_MS, type Change, type Family, scoreBuckets } from '../builders/score-streams.ts';

/** Length of the reference: the two weeks before the watch. */
const REFERENCE_DAYS = 14;
/** Normal days between the reference and a change. */
const QUIET_DAYS = 3;
/** A change counts as missed when it is not found within this number of scores. */
const MAX_DELAY_SCORES = 5000;
const LASTING = { fallDays: 30, daysAfter: 20 };
/** An incident lasts five days, and longer where few scores come. */
const INCIDENT = { drop: 0.1, days: 5, minScores: 1_100, quietDaysAfter: 10 };

/** Takes the next bucket, also an empty one. Returns true while an alarm is on. */
type Watcher = (bucket: Bucket) => boolean;

/** A detector in the comparison: one of ours or another one. */
export interface Contender {
  readonly name: string;
  start(reference: readonly Bucket[]): Watcher;
}

/** One series of the simulation: its traffic, and its random seed. */
export interface Trial {
  readonly family: Family;
  readonly perHour: number;
  readonly seed: number;
}

/** Number of alarms that began and that ended. */
export interface Firings {
  readonly fired: number;
  readonly ended: number;
}

/**
 * Creates a contender from one of our detectors. It learns from the reference once, as it does live, for all watches after
 * it.
 */
export function buildContender<State>(
  name: string,
  detector: Detector<State>,
  terms: PhaseTerms = AT_ONCE,
): Contender {
  const learned = new WeakMap<readonly Bucket[], SeriesState<State>>();
  const learn = (reference: readonly Bucket[]): SeriesState<State> =>
    reference.reduce(
      (state, bucket) => foldBucket(detector, terms, state, bucket).state,
      createSeries(detector),
    );
  return {
    name,
    start(reference) {
      let state = learned.get(reference) ?? learn(reference);
      learned.set(reference, state);
      return (bucket) => {
        state = foldBucket(detector, terms, state, bucket).state;
        return isAlert(state.phase);
      };
    },
  };
}

/** Generates the reference of a trial: its first two weeks. */
export function buildReference(trial: Trial): Bucket[] {
  return [
    ...withSilence(
      scoreBuckets({ ...trial, days: REFERENCE_DAYS, startMs: MONITOR_START_MS }),
      REFERENCE_DAYS,
    ),
  ];
}

/** Counts the alarms of each contender in thirty days without a change. */
export function quietMonth(
  trial: Trial,
  reference: readonly Bucket[],
  contenders: readonly Contender[],
): Firings[] {
  return countFirings(reference, contenders, watched(trial, 30)).map(({ during }) => during);
}

/**
 * Counts the scores from a decrease of the mean, on the fourth day, to the first check with an alarm; infinite without an
 * alarm. A contender whose alarm was on by chance when the mean decreased also counts as finding it.
 */
export function delays(
  trial: Trial,
  drop: number,
  reference: readonly Bucket[],
  contenders: readonly Contender[],
): number[] {
  const change = changeAt(drop);
  const days = QUIET_DAYS + Math.ceil(MAX_DELAY_SCORES / trial.perHour / 24);
  const watchers = contenders.map((contender) => contender.start(reference));
  const found = contenders.map(() => Number.POSITIVE_INFINITY);
  let left = contenders.length;
  let scores = 0;
  for (const bucket of watched(trial, days, change)) {
    const changed = bucket.startMs >= change.atMs;
    scores += changed ? sumHistogram(bucket.scores).count : 0;
    for (const [index, watcher] of watchers.entries()) {
      if (found[index] === Number.POSITIVE_INFINITY && watcher(bucket) && changed) {
        found[index] = scores;
        left -= 1;
      }
    }
    if (left === 0) {
      break;
    }
  }
  return found;
}

/**
 * Counts the alarms of each contender during five days or 1,100 scores with a mean that is lower by 0.1, and in the thirteen days
 * around them.
 */
export function incident(
  trial: Trial,
  reference: readonly Bucket[],
  contenders: readonly Contender[],
): { readonly during: Firings; readonly around: Firings }[] {
  const lasts = Math.max(INCIDENT.days, Math.ceil(INCIDENT.minScores / trial.perHour / 24));
  const change = changeAt(INCIDENT.drop, lasts);
  const days = QUIET_DAYS + lasts + INCIDENT.quietDaysAfter;
  const during = (timeMs: number): boolean => timeMs >= change.atMs && timeMs < (change.untilMs ?? 0);
  return countFirings(reference, contenders, watched(trial, days, change), during);
}

/** Alarms of one contender over a lasting fall of the mean and its end. */
export interface LastingFall {
  /** Number of alarms that began during the fall. */
  readonly fired: number;
  /** Number of alarms that began in the weeks after it. */
  readonly firedAfter: number;
  /** Scores from the end of the fall to the end of the alarm; null when no alarm was on at the end of the fall. */
  readonly recovery: number | null;
}

/** Counts the alarms of a contender during thirty days with a lower mean and in the twenty days after them. */
export function lastingFall(
  trial: Trial,
  drop: number,
  reference: readonly Bucket[],
  contender: Contender,
): LastingFall {
  const { fallDays, daysAfter } = LASTING;
  const change = changeAt(drop, fallDays);
  const watcher = contender.start(reference);
  let [fired, firedAfter, scoresAfter] = [0, 0, 0];
  let recovery: number | null = null;
  let isOn = false;
  for (const bucket of watched(trial, QUIET_DAYS + fallDays + daysAfter, change)) {
    const isAfter = bucket.startMs >= (change.untilMs ?? 0);
    scoresAfter += isAfter ? sumHistogram(bucket.scores).count : 0;
    if (bucket.startMs === change.untilMs && isOn) {
      recovery = Number.POSITIVE_INFINITY;
    }
    const wasOn = isOn;
    isOn = watcher(bucket);
    if (isOn && !wasOn) {
      fired += bucket.startMs >= change.atMs && !isAfter ? 1 : 0;
      firedAfter += isAfter ? 1 : 0;
    }
    if (!isOn && recovery === Number.POSITIVE_INFINITY) {
      recovery = scoresAfter;
    }
  }
  return { fired, firedAfter, recovery };
}

function changeAt(drop: number, days?: number): Change {
  const atMs = MONITOR_START_MS + (REFERENCE_DAYS + QUIET_DAYS) * DAY_MS;
  return { atMs, drop, ...(days === undefined ? {} : { untilMs: atMs + days * DAY_MS }) };
}

/** Generates the stream after the reference, with another random seed. */
function watched(trial: Trial, days: number, change?: Change): Generator<Bucket> {
  const startMs = MONITOR_START_MS + REFERENCE_DAYS * DAY_MS;
  const seed = trial.seed ^ 0x5f_35_64_95;
  return withSilence(
    scoreBuckets({ ...trial, seed, days, startMs, ...(change === undefined ? {} : { change }) }),
    days,
    startMs,
  );
}

function* withSilence(
  buckets: Iterable<Bucket>,
  days: number,
  startMs: number = MONITOR_START_MS,
): Generator<Bucket> {
  let nextMs = startMs;
  function* silenceUntil(untilMs: number): Generator<Bucket> {
    for (; nextMs < untilMs; nextMs += BUCKET_MS) {
      yield { startMs: nextMs, scores: NO_SCORES, outcomes: NO_OUTCOMES };
    }
  }
  for (const bucket of buckets) {
    yield* silenceUntil(bucket.startMs);
    yield bucket;
    nextMs += BUCKET_MS;
  }
  yield* silenceUntil(startMs + days * DAY_MS);
}

function countFirings(
  reference: readonly Bucket[],
  contenders: readonly Contender[],
  stream: Iterable<Bucket>,
  isDuring: (timeMs: number) => boolean = () => true,
): { readonly during: Firings; readonly around: Firings }[] {
  const lanes = contenders.map((contender) => ({
    watcher: contender.start(reference),
    isOn: false,
    during: { fired: 0, ended: 0 },
    around: { fired: 0, ended: 0 },
  }));
  for (const bucket of stream) {
    for (const lane of lanes) {
      const isOn = lane.watcher(bucket);
      if (isOn !== lane.isOn) {
        const tally = isDuring(bucket.startMs) ? lane.during : lane.around;
        tally[isOn ? 'fired' : 'ended'] += 1;
        lane.isOn = isOn;
      }
    }
  }
  return lanes.map(({ during, around }) => ({ during, around }));
}

/** Drift detector with the settings that users choose. */
export const DRIFT = buildContender(
  'drift',
  driftDetector({
    tolerance: 0.02,
    reference: { days: 14, minScores: 300, minDays: 3 },
    direction: 'down',
    thresholds: ONE_SERIES,
  }),
);

/** Watches several streams of a family, each with another seed. */
export function repeated<Result>(
  stream: { readonly family: Family; readonly perHour: number },
  times: number,
  watch: (trial: { family: Family; perHour: number; seed: number }) => readonly Result[],
): Result[] {
  return Array.from({ length: times }, (_, index) => watch({ ...stream, seed: index + 1 })).flat();
}

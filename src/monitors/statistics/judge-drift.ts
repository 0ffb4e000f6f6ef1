import { buildHistogram, type IntervalScores, mirrorHistogram } from '../bucket.ts';
import type { Finding } from '../detector.ts';
import { meanEvidence, noEvidence, stakes, type Variances, weigh } from './evidence.ts';
import type { Thresholds } from './false-alarms.ts';
import { type GuardState, meanGuard } from './mean-guard.ts';
import { MINUTE_MS } from '../../domain/durations.ts';

/** Another verdict of a judge on an anchor. */
export interface Judging {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** Directed score of the anchor. */
  readonly first: number;
  /** Directed score minus `first`. */
  readonly difference: number;
}

/** Length of a bucket of judgings, milliseconds. A check is a bucket with a judging. */
export const JUDGING_INTERVAL_MS = 5 * MINUTE_MS;

/**
 * Difference that counts as a whole one: larger differences count the same. A judge that is unchanged gives two draws of one distribution
 * for an anchor, so any odd function of their difference has the mean 0, and a bounded one lets small shifts be seen soon.
 */
const WHOLE_DIFFERENCE = 0.25;

/** Observation of a judging without a difference. */
const UNCHANGED = 0.5;

/** Guesses of the variance of an observation: a judge that mostly repeats itself, and one that does not. */
const VARIANCES: Variances = [0.01, 0.09];

/** Smallest change of the mean observation that matters; 0.01 are 0.005 of a small difference. */
const LEAST_TOLERANCE = 0.01;

/** Standard errors of the first scores that the tolerance covers: 99 % of sets of anchors. */
const COVERED = 2.33;

/** Guess of the variance of an observation, and the observations that it counts as. */
const GUESS = { variance: 0.01, count: 10 };

/** Sums of observations, for their variance. */
interface Spread {
  readonly count: number;
  readonly sum: number;
  readonly squares: number;
}

const NO_SPREAD: Spread = { count: 0, sum: 0, squares: 0 };

function observe({ difference }: Judging): number {
  const clipped = Math.max(-WHOLE_DIFFERENCE, Math.min(WHOLE_DIFFERENCE, difference));
  return UNCHANGED + clipped / (2 * WHOLE_DIFFERENCE);
}

function addSpread(spread: Spread, observations: readonly number[]): Spread {
  return observations.reduce(
    ({ count, sum, squares }, value) => ({
      count: count + 1,
      sum: sum + value,
      squares: squares + value * value,
    }),
    spread,
  );
}

/** Computes the tolerated change: the first scores are draws, too, so the mean of a set of anchors lies off by their standard error. */
function computeTolerance({ count, sum, squares }: Spread, size: number): number {
  const around = count === 0 ? 0 : Math.max(0, squares - (sum * sum) / count);
  const variance = (around + GUESS.variance * GUESS.count) / (count + GUESS.count);
  return LEAST_TOLERANCE + COVERED * Math.sqrt(variance / (2 * Math.max(1, size)));
}

/** Terms of the watch of a judge. Times are Unix milliseconds. */
export interface JudgeTerms {
  /** Number of anchors. */
  readonly size: number;
  readonly thresholds: Thresholds;
  /** Begin of the incident that is open; null without one. */
  readonly openedMs: number | null;
}

/** Result of the watch of a judge. */
export interface JudgeWatch {
  /** Begin of a change that was found and is not over, Unix milliseconds; null without one. */
  readonly changeBeganMs: number | null;
  /** True: the change of the open incident is over. */
  readonly isOver: boolean;
  /** End of the bucket that decided it; null without judgings. */
  readonly atMs: number | null;
  readonly evidenceLog10: number;
}

/**
 * Watches whether a judge judges its anchors as before: the e-detector of scores (`mean-guard.ts`) in both directions on the differences
 * to the first scores. It folds all judgings anew, so that two processes come to the same result. Source of the method: anchors that are
 * judged again in the stream, arXiv 2606.15474.
 * @param judgings since the last incident or series, the oldest first
 */
export function watchJudge(judgings: readonly Judging[], terms: JudgeTerms): JudgeWatch {
  const { size, thresholds, openedMs } = terms;
  const buckets = Map.groupBy(judgings, ({ atMs }) => Math.floor(atMs / JUDGING_INTERVAL_MS));
  let spread = NO_SPREAD;
  let sides: Sides = { down: null, up: null };
  let isOpen = false;
  let atMs: number | null = null;
  for (const [index, members] of buckets) {
    const observations = members.map(observe);
    const startMs = index * JUDGING_INTERVAL_MS;
    atMs = startMs + JUDGING_INTERVAL_MS;
    const tolerance = computeTolerance(spread, size);
    sides = step(sides, { startMs, scores: buildHistogram(observations) }, { tolerance, thresholds });
    spread = addSpread(spread, observations);
    if (isOpen && findingOf(sides) === null) {
      return { changeBeganMs: null, isOver: true, atMs, evidenceLog10: 0 };
    }
    const mayOpen = openedMs === null ? evidenceOf(sides) >= 2 * thresholds.fireAt : atMs >= openedMs;
    if (!isOpen && mayOpen) {
      sides = raise(sides, { tolerance, thresholds });
      isOpen = findingOf(sides) !== null;
      if (isOpen && openedMs === null) {
        break;
      }
    }
  }
  const finding = findingOf(sides);
  const evidenceLog10 = finding?.evidenceLog10 ?? Math.log10(Math.max(1, evidenceOf(sides)));
  return { changeBeganMs: finding?.changeBeganMs ?? null, isOver: false, atMs, evidenceLog10 };
}

interface Sides {
  readonly down: GuardState | null;
  readonly up: GuardState | null;
}

interface GuardFacts {
  readonly tolerance: number;
  readonly thresholds: Thresholds;
}

function createGuard({ tolerance, thresholds }: GuardFacts) {
  return meanGuard({
    bounds: [UNCHANGED - tolerance],
    tolerance,
    variances: VARIANCES,
    resolveAt: thresholds.resolveAt,
  });
}

/** Weighs a bucket on both sides; while one side has an alarm, only there. */
function step(sides: Sides, observed: IntervalScores, facts: GuardFacts): Sides {
  const guard = createGuard(facts);
  const { startMs, scores } = observed;
  const down = sides.down ?? guard.start();
  const up = sides.up ?? guard.start();
  return {
    down: up.alarm ? down : guard.step(down, { startMs, scores }),
    up: down.alarm ? up : guard.step(up, { startMs, scores: mirrorHistogram(scores) }),
  };
}

function raise(sides: Sides, facts: GuardFacts): Sides {
  const guard = createGuard(facts);
  const isDown = strength(sides.down) >= strength(sides.up);
  return {
    down: sides.down && isDown ? guard.raise(sides.down) : sides.down,
    up: sides.up && !isDown ? guard.raise(sides.up) : sides.up,
  };
}

function strength(side: GuardState | null): number {
  return side === null ? 0 : meanEvidence(side.evidence);
}

function evidenceOf({ down, up }: Sides): number {
  return Math.max(strength(down), strength(up));
}

function findingOf({ down, up }: Sides): Finding | null {
  return down?.alarm?.finding ?? up?.alarm?.finding ?? null;
}

/** Who changed. */
export type Culprit = 'agent' | 'judge' | 'both' | 'unknown';

/** Numbers of a judge since the change of an incident. */
export interface JudgeNumbers {
  /** Mean first score of the anchors, and their mean now. */
  readonly before: number;
  readonly after: number;
  /** Judgings since then. */
  readonly n: number;
  readonly evidenceLog10: number;
}

/** Change of the mean of a series. */
export interface MeanChange {
  /** Directed; negative for a fall. */
  readonly change: number;
  /** Scores since the change, and their variance. */
  readonly n: number;
  readonly variance: number;
}

/** Rounds in which the begin of a change and the mean since then are fitted to each other. */
const FITS = 4;

/**
 * Measures a change of the mean from the scores since it began at the earliest. A monitor dates a change by its limit, which is near the mean
 * before, and so too early by some scores that are still as before; the middle between both means dates it better (Page's CUSUM).
 * @param scores directed, the oldest first; at least one
 * @param before mean before the change
 */
export function measureChange(scores: readonly number[], before: number): MeanChange {
  let since = scores;
  let after = meanOf(scores);
  for (let fit = 0; fit < FITS; fit += 1) {
    since = scores.slice(findBegin(scores, before, after));
    after = meanOf(since);
  }
  const variance = meanOf(since.map((score) => (score - after) ** 2));
  return { change: after - before, n: since.length, variance };
}

/** Finds the place from which the scores are on the side of `after` by the largest sum. */
function findBegin(scores: readonly number[], before: number, after: number): number {
  const middle = (before + after) / 2;
  const sign = after < before ? 1 : -1;
  let [best, begin, sum] = [Number.NEGATIVE_INFINITY, 0, 0];
  for (let index = scores.length - 1; index >= 0; index -= 1) {
    sum += sign * (middle - (scores[index] ?? 0));
    if (sum > best) {
      [best, begin] = [sum, index];
    }
  }
  return begin;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Evidence at which the judge counts as changed for one incident: a false one in twenty at most (Ville). */
const JUDGE_CHANGED = 20;

/** Fewest judgings that show an unchanged judge. */
const LEAST_JUDGINGS = 20;

/** Part of the anchors that are judged before anything is told: a verdict at each look would be wrong more often. */
const ENOUGH = 0.8;

/** Normal quantiles of 0.98 and 0.995. */
const LIKELY = 2.05;
const SURE = 2.58;

/** Part of a change that makes somebody its cause: of two that changed alike, each has half. */
const HALF = 0.5;

/** Share of first scores with one value from which a judge counts as one of few values, whose rare verdicts say much. */
const FEW_VALUES = 0.4;

/** Verdicts that may have turned unseen among n judgings, as a multiple of 1 / n: 95 % (rule of three). */
const UNSEEN = 3;

/** Guess of the standard deviation of a difference, and the judgings that it counts as. */
const GUESSED_DIFFERENCE = { deviation: 0.05, count: 4 };

/**
 * Tells who changed: compares the change of the scores with that of the judge on its anchors. The evidence against the judge is a product
 * of bets since the change, which the scores date, not the anchors; so it is an e-value at any time.
 * @param judgings since the change, the oldest first
 * @param before judgings before the change, which tell how far the judge repeats itself
 * @returns who: undefined while more judgings can tell it
 */
export function tellWho(
  {
    judgings,
    before,
    size,
  }: { readonly judgings: readonly Judging[]; readonly before: readonly Judging[]; readonly size: number },
  { change, n: scores, variance }: MeanChange,
  isLast: boolean,
): { readonly who: Culprit | undefined; readonly judge: JudgeNumbers | null } {
  const n = judgings.length;
  if (n === 0) {
    return { who: isLast ? 'unknown' : undefined, judge: null };
  }
  const tolerance = computeTolerance(addSpread(NO_SPREAD, before.map(observe)), size);
  const evidence = weighJudge(judgings, { tolerance, isFall: change <= 0 });
  const first = judgings.reduce((sum, each) => sum + each.first, 0) / n;
  const moved = judgings.reduce((sum, { difference }) => sum + difference, 0) / n;
  const judge = { before: first, after: first + moved, n, evidenceLog10: Math.log10(evidence) };
  const whole = Math.abs(change);
  const byJudge = change <= 0 ? -moved : moved;
  const error = judgeError(judgings, { moved, size });
  if (n < ENOUGH * size && !isLast) {
    return { who: undefined, judge };
  }
  const wholeError = Math.sqrt(variance / Math.max(1, scores));
  if (evidence >= JUDGE_CHANGED) {
    const rest = whole - byJudge;
    const restError = Math.hypot(error, wholeError);
    const isBoth = rest > Math.max(SURE * restError, (HALF / 2) * whole);
    const isJudge = rest + LIKELY * restError < HALF * whole;
    return { who: isBoth ? 'both' : isJudge ? 'judge' : isLast ? 'unknown' : undefined, judge };
  }
  const most = byJudge + SURE * error + (hasFewValues(judgings) ? UNSEEN / n : 0);
  const isAgent = n >= Math.min(LEAST_JUDGINGS, size) && most < HALF * (whole - LIKELY * wholeError);
  return { who: isAgent ? 'agent' : isLast ? 'unknown' : undefined, judge };
}

function hasFewValues(judgings: readonly Judging[]): boolean {
  const counts = [...Map.groupBy(judgings, ({ first }) => first).values()].map(({ length }) => length);
  return Math.max(...counts) >= FEW_VALUES * judgings.length;
}

function weighJudge(
  judgings: readonly Judging[],
  { tolerance, isFall }: { readonly tolerance: number; readonly isFall: boolean },
): number {
  const scores = buildHistogram(judgings.map(observe));
  const bound = UNCHANGED - tolerance;
  const used = stakes(VARIANCES, bound);
  return meanEvidence(weigh(noEvidence(used), used, bound, isFall ? scores : mirrorHistogram(scores)));
}

/** Standard error of the mean difference: of the judgings of different anchors, and of the first scores. */
function judgeError(
  judgings: readonly Judging[],
  { moved, size }: { readonly moved: number; readonly size: number },
): number {
  const { deviation, count } = GUESSED_DIFFERENCE;
  const n = judgings.length;
  const around = judgings.reduce((sum, { difference }) => sum + (difference - moved) ** 2, 0);
  const variance = (around + count * deviation * deviation) / (n + count);
  return Math.sqrt(variance / Math.min(n, Math.max(1, size)));
}

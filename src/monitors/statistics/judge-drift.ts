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
  readonly anchor: string;
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
  readonly size: number;
  readonly thresholds: Thresholds;
  /** Begin of the incident that is open; null without one. */
  readonly openedMs: number | null;
}

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

export interface MeanChange {
  /** Directed; negative for a fall. */
  readonly change: number;
  /** Standard error of the change: the scatter of the scores, and the doubt about when the change began. */
  readonly error: number;
}

/** A directed score, and when it was written, Unix milliseconds. */
export interface TimedScore {
  readonly score: number;
  readonly atMs: number;
}

/** Smallest variance of a score, where all are equal. */
const LEAST_VARIANCE = 0.001;

/** Deviation of a mean that moves by itself: scores of one time are more alike than they are to scores of another. */
const OWN_MOVEMENT = 0.008;

/** Standard errors of a change that are taken off, because an alarm comes where chance made the change look larger, and the most of it. */
const BY_CHANCE = { errors: 0.7, most: 0.5 };

/**
 * Measures a change of the mean from the scores since it began at the earliest. A monitor dates a change by its limit, which is near the mean
 * before, and so too early by some scores that are still as before. Each later begin is weighed by its likelihood, so that the one that
 * chance made the largest does not count alone (D. Hinkley, Biometrika 57, 1970, for the likelihood of a begin). Most of a standard error is
 * taken off.
 * @param scores the oldest first; at least one
 * @param before mean before the change
 */
export function measureChange(scores: readonly TimedScore[], before: number): MeanChange {
  const variance = Math.max(LEAST_VARIANCE, sumSquares(scores.map(({ score }) => score)) / scores.length);
  let sum = 0;
  const begins = scores.toReversed().map(({ score }, index) => {
    sum += score - before;
    const n = index + 1;
    return { n, moved: sum / n, log: sum ** 2 / n / (2 * variance) - Math.log(n) / 2 };
  });
  const most = begins.reduce((largest, { log }) => Math.max(largest, log), Number.NEGATIVE_INFINITY);
  const weights = begins.map(({ log }) => Math.exp(log - most));
  const total = weights.reduce((all, weight) => all + weight, 0);
  const average = (read: (begin: (typeof begins)[number]) => number) =>
    begins.reduce((all, begin, index) => all + read(begin) * (weights[index] ?? 0), 0) / total;
  const seen = average(({ moved }) => moved);
  const error = Math.sqrt(OWN_MOVEMENT ** 2 + average(({ n, moved }) => variance / n + (moved - seen) ** 2));
  const size = Math.abs(seen) - Math.min(BY_CHANCE.errors * error, BY_CHANCE.most * Math.abs(seen));
  return { change: Math.sign(seen) * size, error };
}

/** Log likelihood below the likeliest begin of a change from which on a begin is ruled out: one in 20. */
const RULED_OUT = Math.log(20);

/**
 * Dates a change of the mean: returns the time of the earliest begin that is not ruled out, Unix milliseconds. The bucket by which a monitor
 * dates it may begin long before.
 * @param scores the oldest first; at least one
 * @param before mean before the change
 */
export function dateChange(scores: readonly TimedScore[], before: number): number {
  let [sum, squares] = [0, 0];
  const begins = scores.toReversed().map(({ score, atMs }, index) => {
    sum += score - before;
    squares += (score - before) ** 2;
    return { atMs, explained: sum ** 2 / (index + 1) };
  });
  const most = begins.reduce((largest, { explained }) => Math.max(largest, explained), 0);
  const variance = Math.max(LEAST_VARIANCE, (squares - most) / scores.length);
  const isPossible = ({ explained }: { readonly explained: number }) =>
    (most - explained) / (2 * variance) <= RULED_OUT;
  return begins.findLast(isPossible)?.atMs ?? 0;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** Part of the anchors that are judged before anything is told: a verdict at each look would be wrong more often. */
const ENOUGH = 0.8;

const LEAST_JUDGINGS = 20;

/** Parts of a change that the judge has where it changed alone, and where both changed. */
const ALONE = 1;
const SHARED = [0.4, 0.5, 0.6] as const;

/** Probability from which a verdict is told. */
const SURE = 0.9;

/** Share of first scores with one value from which a judge counts as one of few values: it turns few verdicts, each by much. */
const FEW_VALUES = 0.4;

/** Guess of the variance of a repeated verdict, and the judgings that it counts as. */
const GUESSED_REPEAT = { variance: 0.05 ** 2, count: 4 };

/**
 * Tells who changed: weighs three explanations of a change, "the agent alone", "the judge alone" and "both", against each other (Bayes, each
 * with the same odds before). Each says by how much the verdicts on the anchors fell: by nothing, by the whole change, or by a part of it.
 * The error of this fall is known: of a judge that repeats itself from its verdicts on the same anchor, of the choice of anchors from the
 * differences between them, and of the change from the scores.
 * @param judgings since the change, the oldest first
 * @param before judgings before the change, which tell how far the judge repeats itself
 * @returns who: undefined while more judgings can tell it
 */
export function tellWho(
  { judgings, before, size }: JudgedAnchors,
  change: MeanChange,
  isLast: boolean,
): { readonly who: Culprit | undefined; readonly judge: JudgeNumbers | null } {
  const n = judgings.length;
  if (n === 0) {
    return { who: isLast ? 'unknown' : undefined, judge: null };
  }
  const tolerance = computeTolerance(addSpread(NO_SPREAD, before.map(observe)), size);
  const evidence = weighJudge(judgings, { tolerance, isFall: change.change <= 0 });
  const first = meanOf(judgings.map((each) => each.first));
  const after = first + meanOf(judgings.map(({ difference }) => difference));
  const judge = { before: first, after, n, evidenceLog10: Math.log10(evidence) };
  const isEarly = n < Math.min(size, Math.max(LEAST_JUDGINGS, ENOUGH * size));
  if (isEarly) {
    return { who: isLast ? 'unknown' : undefined, judge };
  }
  const chances = weighCulprits(compareAnchors(judgings, before, change.change <= 0), change);
  const [who, chance] = chances.reduce((best, each) => (each[1] > best[1] ? each : best));
  return { who: chance >= SURE ? who : isLast ? 'unknown' : undefined, judge };
}

/** Judgings of a set of anchors, before and since a change. */
interface JudgedAnchors {
  readonly judgings: readonly Judging[];
  readonly before: readonly Judging[];
  readonly size: number;
}

interface AnchorChange {
  /** Mean over the anchors that were judged since the change. */
  readonly change: number;
  /** Variance of this mean under a judge that repeats itself. */
  readonly noise: number;
  /** Variance of the changes between anchors beyond the noise. */
  readonly between: number;
  readonly anchors: number;
  /** Verdicts of a judge of few values; null for another judge. */
  readonly turns: Turns | null;
}

/** Anchors whose verdict turned. */
interface Turns {
  /** Anchors that turned in the direction of the change. */
  readonly along: number;
  /** Chance that the verdict on an anchor turns in one direction under an unchanged judge. */
  readonly byChance: number;
  /** Mean distance that a turned anchor moved. */
  readonly distance: number;
}

/** Compares the verdicts on each anchor since the change with its first score and its verdicts before. */
function compareAnchors(
  judgings: readonly Judging[],
  before: readonly Judging[],
  isFall: boolean,
): AnchorChange {
  const past = Map.groupBy(before, ({ anchor }) => anchor);
  const compared = [...Map.groupBy(judgings, ({ anchor }) => anchor)].map(([anchor, members]) => {
    const earlier = [0, ...(past.get(anchor) ?? []).map(({ difference }) => difference)];
    const now = members.map(({ difference }) => difference);
    return {
      first: members[0]?.first ?? 0,
      moved: meanOf(now) - meanOf(earlier),
      turn: medianOf(now) - medianOf(earlier),
      parts: 1 / now.length + 1 / earlier.length,
      squares: sumSquares(earlier) + sumSquares(now),
      freedom: earlier.length + now.length - 2,
    };
  });
  const sum = (read: (each: (typeof compared)[number]) => number) =>
    compared.reduce((total, each) => total + read(each), 0);
  const { variance, count } = GUESSED_REPEAT;
  const repeat = (sum((each) => each.squares) + count * variance) / (sum((each) => each.freedom) + count);
  const anchors = compared.length;
  const parts = sum((each) => each.parts);
  const spread = sumSquares(compared.map(({ moved }) => moved)) / Math.max(1, anchors - 1);
  const firsts = judgings.map(({ first }) => first);
  return {
    change: sum((each) => each.moved) / anchors,
    noise: (repeat * parts) / anchors ** 2,
    between: Math.max(0, spread - (repeat * parts) / anchors),
    anchors,
    turns:
      hasFewValues(firsts) && !haveShifted(compared.map(({ moved }) => moved))
        ? countTurns(compared, { before, isFall })
        : null,
  };
}

/** Distance of two verdicts from which on the later one has turned. */
const TURNED = 0.125;

/** Guess of the chance that an unchanged judge turns a verdict in one direction, and the verdicts that it counts as. */
const GUESSED_CHANCE = { chance: 0.02, count: 25 };

/** Turned anchors that the guess of their distance counts as: the whole way to the end of the scale. */
const GUESSED_TURNS = 2;

/**
 * Counts the anchors that turned. Under an unchanged judge as many turn up as down: two verdicts on an anchor are draws of one distribution. So
 * the anchors that turned against the change, and the turned verdicts before it, tell the chance.
 */
function countTurns(
  anchors: readonly { readonly first: number; readonly turn: number }[],
  { before, isFall }: { readonly before: readonly Judging[]; readonly isFall: boolean },
): Turns {
  const distances = anchors.map(({ turn }) => (isFall ? -turn : turn));
  const along = distances.filter((distance) => distance > TURNED);
  const against = distances.filter((distance) => distance < -TURNED).length;
  const turnedBefore = before.filter(({ difference }) => Math.abs(difference) > TURNED).length;
  const { chance, count } = GUESSED_CHANCE;
  const room = meanOf(anchors.map(({ first }) => (isFall ? first : 1 - first)));
  return {
    along: along.length,
    byChance: (against + turnedBefore / 2 + chance * count) / (anchors.length + before.length + count),
    distance: Math.max(
      TURNED,
      (GUESSED_TURNS * room + along.reduce((sum, distance) => sum + distance, 0)) /
        (GUESSED_TURNS + along.length),
    ),
  };
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function sumSquares(values: readonly number[]): number {
  const mean = meanOf(values);
  return values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
}

/** True where most anchors moved about as far as the mean: then the judge moved all its verdicts, and turned none. */
function haveShifted(moved: readonly number[]): boolean {
  const mean = meanOf(moved);
  return mean !== 0 && medianOf(moved) / mean >= 1 / 2;
}

function hasFewValues(firsts: readonly number[]): boolean {
  const counts = [...Map.groupBy(firsts, (first) => first).values()].map(({ length }) => length);
  return Math.max(...counts) >= FEW_VALUES * firsts.length;
}

function weighCulprits(anchors: AnchorChange, change: MeanChange): [Exclude<Culprit, 'unknown'>, number][] {
  const { turns } = anchors;
  const likelihood = (part: number) =>
    turns === null
      ? likelihoodOfMean(anchors, change, part)
      : likelihoodOfTurns(turns, anchors.anchors, change, part);
  const all = [likelihood(0), likelihood(ALONE), meanOf(SHARED.map(likelihood))] as const;
  const total = all.reduce((sum, each) => sum + each, Number.MIN_VALUE);
  return [
    ['agent', all[0] / total],
    ['judge', all[1] / total],
    ['both', all[2] / total],
  ];
}

/** Likelihood of the mean change of the anchors where the judge has this part of the change of the scores. */
function likelihoodOfMean(
  { change: moved, noise, between, anchors }: AnchorChange,
  { change, error: ofChange }: MeanChange,
  part: number,
): number {
  const error = noise + (part === 0 ? 0 : between / anchors) + (part * ofChange) ** 2;
  return Math.exp(-((moved - part * change) ** 2) / (2 * error)) / Math.sqrt(error);
}

/** Standard errors of the change of the scores at which the likelihood of turns is read, with their weights. */
const ERRORS = [-2, -1, 0, 1, 2].map((at) => ({ at, weight: Math.exp((-at * at) / 2) }));

/** Greatest chance that a verdict turns. */
const MOST_TURNED = 0.95;

/**
 * Likelihood of the turned anchors where the judge has this part of the change of the scores: each anchor turns by chance, or with the
 * probability that moves the mean so far. A binomial one, because the few that turn are far from a normal distribution.
 */
function likelihoodOfTurns(
  { along, byChance, distance }: Turns,
  anchors: number,
  { change, error }: MeanChange,
  part: number,
): number {
  const size = Math.abs(change);
  const likelihoods = ERRORS.map(({ at, weight }) => {
    const wanted = (part * Math.max(0, size + at * error)) / distance;
    const chance = Math.min(MOST_TURNED, byChance + (1 - byChance) * wanted);
    return weight * chance ** along * (1 - chance) ** (anchors - along);
  });
  return likelihoods.reduce((sum, each) => sum + each, 0);
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

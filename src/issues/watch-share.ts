import { DAY_MS, HOUR_MS } from '../domain/durations.ts';
import type { KeptState, ShareRate } from '../domain/failure.ts';
import { type ScoreHistogram, mirrorHistogram } from '../monitors/bucket.ts';
import {
  addToReference,
  type Baseline,
  computeTolerance,
  EMPTY_REFERENCE,
  pinBaseline,
} from '../monitors/statistics/baseline.ts';
import { meanEvidence, noEvidence, weigh } from '../monitors/statistics/evidence.ts';
import { type Thresholds, thresholdsFor } from '../monitors/statistics/false-alarms.ts';
import { type GuardState, type MeanGuard, meanGuard } from '../monitors/statistics/mean-guard.ts';

/** Runs of an agent that began in one hour, and the failing ones among them by their weight. */
export interface ShareHour {
  readonly startMs: number;
  /** Runs, also those that the sample left out. */
  readonly runs: number;
  readonly weights: readonly number[];
  /** Failing runs of each weight. */
  readonly counts: readonly number[];
}

/** Ages of an issue, in days, at which its share is learned again; later each 30 days. A slow change within them is no alarm. */
const PIN_DAYS = [1, 3, 7, 14, 30] as const;
const PIN_EVERY_MS = 30 * DAY_MS;

/** Longest time that a share is learned from, milliseconds. */
const REFERENCE_MS = 30 * DAY_MS;

/** Time after which the level that an alarm found is the usual one. */
const NEW_NORMAL_MS = 14 * DAY_MS;

/** Time before the present that a watch needs. */
export const WATCHED_MS = 90 * DAY_MS;

/** Parts of the former share by which it has to rise and to fall, and the part below which an issue is quiet. */
const RISE = 0.25;
const FALL = 0.5;
const QUIET_PART = 0.1;

/** Part of the former share that a mended issue stays below. */
const MENDED_PART = 0.25;

/** Rises and falls that the bets are designed for, as parts of the share. */
const RISES = [0.25, 0.5, 1, 2, 4, 9] as const;
const FALLS = [0.3, 0.5, 0.75, 0.95] as const;

/** Runs without a failure leave a share above this over their number with a probability of 1 %. */
const NONE_SEEN = 4.6;

/** Directions of an open issue that share its allowance: up, down, and quiet. */
const DIRECTIONS = 3;

/** Computes the evidence that the issues of an agent need: one look each hour, one allowance for all. */
export function computeThresholds(budget: number, issues: number): Thresholds {
  return thresholdsFor({ budget, series: Math.max(1, issues), intervalMs: HOUR_MS });
}

interface Guards {
  readonly most: number;
  readonly mean: number;
  readonly up: MeanGuard;
  readonly down: MeanGuard | null;
  /** Share below which the issue is quiet, over the greatest weight. */
  readonly quietBound: number;
}

interface WatchState {
  readonly guards: Guards;
  readonly up: GuardState;
  readonly down: GuardState | null;
  readonly quiet: readonly number[];
}

/** State of the share of an open issue. */
export interface ShareFinding {
  readonly state: Extract<KeptState, 'open' | 'escalating' | 'fading' | 'resolved'>;
  /** Share before and since the change; null while it is open. */
  readonly before: number | null;
  readonly after: number | null;
  /** Start of the change. */
  readonly sinceMs: number;
}

export interface WatchTerms {
  readonly firstSeenMs: number;
  readonly nowMs: number;
  readonly thresholds: Thresholds;
  /** Alarm that was told already: it stands until the share is proved to be back. */
  readonly raised: { readonly state: 'escalating' | 'fading'; readonly atMs: number } | null;
}

/** Watch of one issue that keeps what it has found of past hours. */
export class ShareWatch {
  #most = 0;
  #state: WatchState | null = null;
  #nextPin = 0;
  #doneMs = Number.NEGATIVE_INFINITY;

  /**
   * Follows the share over the hours of the issue's agent, in order. Hours that ended more than an hour ago are followed once.
   * @param changedMs start of the earliest run that is new to the hours
   */
  follow(hours: readonly ShareHour[], terms: WatchTerms, changedMs: number): ShareFinding {
    const most = Math.max(1, ...hours.flatMap(({ weights }) => weights));
    if (most !== this.#most || changedMs < this.#doneMs) {
      this.#most = most;
      this.#state = null;
      this.#nextPin = findFirstPin(terms);
      this.#doneMs = Number.NEGATIVE_INFINITY;
    }
    const settledMs = terms.nowMs - 2 * HOUR_MS;
    let state = this.#state;
    let pin = this.#nextPin;
    for (const [index, hour] of hours.entries()) {
      if (hour.startMs <= this.#doneMs) {
        continue;
      }
      const pinMs = computePin(terms.firstSeenMs, pin);
      if (hour.startMs >= pinMs && mayPin(state, hour.startMs)) {
        state = startWatch(hours.slice(0, index), { most, atMs: hour.startMs, terms });
        pin = findNextPin(terms.firstSeenMs, hour.startMs);
      }
      state = state && stepWatch(state, hour, terms);
      if (hour.startMs <= settledMs) {
        this.#state = state;
        this.#nextPin = pin;
        this.#doneMs = hour.startMs;
      }
    }
    return readFinding(state, terms);
  }
}

/** Computes the time of a pin by its number. */
function computePin(firstSeenMs: number, pin: number): number {
  const last = PIN_DAYS.length - 1;
  return firstSeenMs + (PIN_DAYS[Math.min(pin, last)] ?? 0) * DAY_MS + Math.max(0, pin - last) * PIN_EVERY_MS;
}

function findNextPin(firstSeenMs: number, afterMs: number): number {
  let pin = 0;
  while (computePin(firstSeenMs, pin) <= afterMs) {
    pin += 1;
  }
  return pin;
}

/** Finds the pin at which a watch begins: an alarm stands for less than 30 days before the present. */
function findFirstPin({ firstSeenMs, nowMs }: WatchTerms): number {
  return Math.max(0, findNextPin(firstSeenMs, nowMs - PIN_EVERY_MS) - 1);
}

function mayPin(state: WatchState | null, atMs: number): boolean {
  const alarm = state?.up.alarm ?? state?.down?.alarm ?? null;
  return alarm === null || atMs - alarm.finding.changeBeganMs >= NEW_NORMAL_MS;
}

function startWatch(
  hours: readonly ShareHour[],
  { most, atMs, terms }: { readonly most: number; readonly atMs: number; readonly terms: WatchTerms },
): WatchState | null {
  const reference = hours
    .filter(({ startMs }) => startMs >= atMs - REFERENCE_MS)
    .reduce(
      (sum, hour) => addToReference(sum, { startMs: hour.startMs, scores: observe(hour, most) }),
      EMPTY_REFERENCE,
    );
  if (reference.count === 0) {
    return null;
  }
  const guards = createGuards(pinBaseline(reference), most, terms.thresholds);
  return {
    guards,
    up: guards.up.start(),
    down: guards.down?.start() ?? null,
    quiet: noEvidence(FALLS),
  };
}

/** Observations of an hour: 0 for a run without the failure, else its weight over the greatest one. */
function observe({ runs, weights, counts }: ShareHour, most: number): ScoreHistogram {
  const failing = counts.reduce((sum, count) => sum + count, 0);
  return {
    values: [0, ...weights.map((weight) => weight / most)],
    counts: [Math.max(0, runs - failing), ...counts],
  };
}

function createGuards(baseline: Baseline, most: number, { resolveAt }: Thresholds): Guards {
  const { mean, variance, count, slotMeans } = baseline;
  const doubt = computeTolerance(baseline, 0);
  const rise = Math.max(RISE * mean, doubt + NONE_SEEN / count);
  const fall = Math.max(FALL * mean, doubt);
  const highest = Math.max(...slotMeans) + rise;
  const lowest = Math.min(...slotMeans) - fall;
  // A weight below the greatest one makes the observations smaller, and their variance with them.
  const perMean = mean === 0 ? 1 : variance / (mean * (1 - mean) || 1);
  return {
    most,
    mean,
    up: meanGuard({
      bounds: slotMeans.map((each) => 1 - Math.min(each + rise, 1)),
      tolerance: rise,
      variances: [Math.max(variance, highest * perMean)],
      drops: RISES.map((part) => part * (mean + rise)),
      resolveAt,
    }),
    down:
      lowest <= 0
        ? null
        : meanGuard({
            bounds: slotMeans.map((each) => each - fall),
            tolerance: fall,
            variances: [variance],
            drops: FALLS.map((part) => part * lowest),
            resolveAt,
          }),
    quietBound: mean * QUIET_PART,
  };
}

function stepWatch(state: WatchState, hour: ShareHour, terms: WatchTerms): WatchState {
  const { guards } = state;
  const { startMs } = hour;
  const scores = observe(hour, guards.most);
  const isTold = (wanted: 'escalating' | 'fading') =>
    terms.raised?.state === wanted && startMs <= terms.raised.atMs && terms.raised.atMs < startMs + HOUR_MS;
  const fireAt = DIRECTIONS * terms.thresholds.fireAt;
  const step = (guard: MeanGuard, former: GuardState, seen: ScoreHistogram, told: boolean) => {
    const next = guard.step(former, { startMs, scores: seen });
    return next.alarm === null && (told || meanEvidence(next.evidence) >= fireAt) ? guard.raise(next) : next;
  };
  return {
    guards,
    up: step(guards.up, state.up, mirrorHistogram(scores), isTold('escalating')),
    down: guards.down && state.down && step(guards.down, state.down, scores, isTold('fading')),
    quiet:
      guards.quietBound === 0
        ? state.quiet
        : weigh(
            state.quiet,
            FALLS.map((part) => part / (1 - guards.quietBound)),
            guards.quietBound,
            scores,
          ),
  };
}

function readFinding(state: WatchState | null, { thresholds, nowMs }: WatchTerms): ShareFinding {
  const fireAt = DIRECTIONS * thresholds.fireAt;
  if (state === null) {
    return { state: 'open', before: null, after: null, sinceMs: nowMs };
  }
  const { guards, up, down, quiet } = state;
  const before = guards.mean * guards.most;
  if (up.alarm) {
    const { after, changeBeganMs } = up.alarm.finding;
    return {
      state: 'escalating',
      before,
      after: (1 - (after ?? 1)) * guards.most,
      sinceMs: changeBeganMs,
    };
  }
  if (meanEvidence(quiet) >= fireAt) {
    return { state: 'resolved', before, after: 0, sinceMs: nowMs };
  }
  if (down?.alarm) {
    const { after, changeBeganMs } = down.alarm.finding;
    return { state: 'fading', before, after: (after ?? 0) * guards.most, sinceMs: changeBeganMs };
  }
  return { state: 'open', before: null, after: null, sinceMs: nowMs };
}

/** Error probability of each side of a verification: 5 % for both. */
const SIDE_ALPHA = 0.025;

/** Largest part of the stake that would make a factor zero. */
const MAX_PART = 0.95;

/** Bets on a share above a line, as parts of the line. */
const ABOVE = [0.25, 0.5, 1, 2, 4, 8, 16, 32] as const;

/** Halvings of the interval that a bound is searched in. */
const SEARCH_STEPS = 40;

/**
 * Tells whether an issue that was mended came back: evidence against "the share is at most a quarter of the former one" over the hours
 * since then.
 */
export function isBack(hours: readonly ShareHour[], before: ShareRate | null, fireAt: number): boolean {
  const most = Math.max(1, ...hours.flatMap(({ weights }) => weights));
  const runs = Math.max(before?.n ?? 0, 1);
  const bound = Math.min(0.5, Math.max(MENDED_PART * (before?.value ?? 0), MENDED_PART / (runs + 1)) / most);
  const bets = ABOVE.map((part) => -Math.min(part, MAX_PART / bound));
  let evidence: readonly number[] = noEvidence(bets);
  return hours.some((hour) => {
    evidence = weigh(evidence, bets, bound, observe(hour, most));
    return meanEvidence(evidence) >= fireAt;
  });
}

/**
 * Computes an interval of the share that holds at all times together with a probability of 95 %, so that it may be looked at after each
 * run. A bound is the share against which the bets on the other side have won 40 times their stake. Source: estimating means of bounded
 * random variables by betting, Waudby-Smith and Ramdas, JRSS-B 2024.
 */
export function boundShare(totals: ShareHour): { readonly low: number; readonly high: number } {
  const most = Math.max(1, ...totals.weights);
  const scores = observe(totals, most);
  const isAbove = (line: number) =>
    computeWealth(
      scores,
      line,
      [...FALLS, MAX_PART].map((part) => part / (1 - line)),
    ) >=
    1 / SIDE_ALPHA;
  const isBelow = (line: number) =>
    computeWealth(
      scores,
      line,
      ABOVE.map((part) => -Math.min(part, MAX_PART / line)),
    ) >=
    1 / SIDE_ALPHA;
  return {
    low: most * search((line) => !isBelow(line)),
    high: Math.min(1, most * search(isAbove)),
  };
}

/** Finds the least line between 0 and 1 from which on a test holds. */
function search(holds: (line: number) => boolean): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < SEARCH_STEPS; step += 1) {
    const line = (low + high) / 2;
    [low, high] = holds(line) ? [low, line] : [line, high];
  }
  return high < 1 / 2 ** (SEARCH_STEPS - 1) ? 0 : high;
}

/** Computes the mean of what each stake makes of 1. */
function computeWealth({ values, counts }: ScoreHistogram, line: number, bets: readonly number[]): number {
  const logarithms = bets.map((bet) =>
    values.reduce((sum, value, index) => sum + (counts[index] ?? 0) * Math.log1p(bet * (line - value)), 0),
  );
  return logarithms.reduce((sum, logarithm) => sum + Math.exp(Math.min(logarithm, 600)) / bets.length, 0);
}

/** Decides a verification by the share before and the interval since. */
export function verifyShare(
  before: ShareRate | null,
  since: ShareRate | null,
): 'running' | 'verified' | 'not-verified' {
  const line = MENDED_PART * (before?.value ?? 0);
  if (before === null || since === null) {
    return 'running';
  }
  return since.high < line ? 'verified' : since.low > line ? 'not-verified' : 'running';
}

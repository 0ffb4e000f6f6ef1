import { isBelow, reaches, ROUNDING } from '../limits.ts';

/** Range and direction of a score; null where the scorer has none. */
export interface Scale {
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly higherIsBetter: boolean | null;
}

/** Band of scores: up to a limit (included) or below one (excluded); without a limit, what the bands before it leave. */
export interface ScoreBand {
  readonly upTo?: number;
  readonly below?: number;
}

/** Directed score from which scores pass where neither labels nor a bar say it: the better half of the range. */
export const PASS_AT = 0.5;

/** Step from a limit to the scores beyond it, larger than what counts as rounding. */
const BEYOND = 2 * ROUNDING;

/**
 * Finds the pass line of a scorer: the directed score from which its scores pass. A score in the worst band fails and every other one
 * passes; without bands, those from the bar on pass.
 */
export function findPassLine(bands: readonly ScoreBand[], scale: Scale, bar: number = PASS_AT): number {
  const isRising = scale.higherIsBetter !== false;
  const [low, high] = readRange(scale);
  const [lowest, highest] = [findBand(low, bands), findBand(high, bands)];
  if (lowest === highest) {
    return bar;
  }
  const { upTo, below } = bands[isRising ? lowest : highest - 1] ?? {};
  const limit = upTo ?? below;
  const isLimitWorst = (upTo !== undefined) === isRising;
  return limit === undefined ? bar : directScore(limit, scale) + (isLimitWorst ? BEYOND : 0);
}

/** Finds the place of the band of a score: the first match; -1 when no band has it. */
export function findBand(score: number, bands: readonly ScoreBand[]): number {
  return bands.findIndex(
    ({ upTo, below }) =>
      (upTo === undefined || reaches(upTo, score)) && (below === undefined || isBelow(score, below)),
  );
}

/** Returns whether a score passes: directed, with the pass line of its scorer. */
export function isPassing(directed: number, passLine: number): boolean {
  return reaches(directed, passLine);
}

/** Returns a score between 0 (worst) and 1 (best). Without a range it counts as from 0 to 1; without a direction, more is better. */
export function directScore(score: number, scale: Scale): number {
  const [low, high] = readRange(scale);
  const place = Math.min(1, Math.max(0, (score - low) / (high - low)));
  return scale.higherIsBetter === false ? 1 - place : place;
}

function readRange({ scoreMin, scoreMax }: Scale): readonly [low: number, high: number] {
  return scoreMin !== null && scoreMax !== null && scoreMax > scoreMin ? [scoreMin, scoreMax] : [0, 1];
}

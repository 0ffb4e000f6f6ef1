import { reaches } from '../limits.ts';

/** Range and direction of a score; null where the scorer has none. */
export interface Scale {
  readonly scoreMin: number | null;
  readonly scoreMax: number | null;
  readonly higherIsBetter: boolean | null;
}

/** Directed score from which a score passes. */
export const PASS_AT = 0.5;

/** Limits between the parts of the directed range: fifths, the middle one split where scores begin to pass. */
export const PART_LIMITS = [0.2, 0.4, PASS_AT, 0.6, 0.8] as const;

/** Returns whether a directed score passes. */
export function isPassing(directed: number): boolean {
  return reaches(directed, PASS_AT);
}

/** Returns the part of the directed range that a directed score is in, from 0. */
export function findPart(directed: number): number {
  return PART_LIMITS.filter((limit) => reaches(directed, limit)).length;
}

/** Returns whether the scores of a part pass. */
export function isPassingPart(part: number): boolean {
  return part > PART_LIMITS.indexOf(PASS_AT);
}

/** Returns a score between 0 (worst) and 1 (best). Without a range it counts as from 0 to 1; without a direction, more is better. */
export function directScore(score: number, { scoreMin, scoreMax, higherIsBetter }: Scale): number {
  const hasRange = scoreMin !== null && scoreMax !== null && scoreMax > scoreMin;
  const place = Math.min(1, Math.max(0, hasRange ? (score - scoreMin) / (scoreMax - scoreMin) : score));
  return higherIsBetter === false ? 1 - place : place;
}

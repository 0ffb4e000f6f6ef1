import { isBelow, reaches } from '../domain/limits.ts';
import type { ScoreLabel } from './scorer.ts';

/** Finds the name of the band that contains a score; undefined when no band does. */
export function findScoreLabel(score: number, labels: readonly ScoreLabel[]): string | undefined {
  return labels.find((band) => isInBand(score, band))?.label;
}

function isInBand(score: number, band: ScoreLabel): boolean {
  return (
    (band.upTo === undefined || reaches(band.upTo, score)) &&
    (band.below === undefined || isBelow(score, band.below))
  );
}

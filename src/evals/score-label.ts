import type { ScoreLabel } from './scorer.ts';

/** The name of the band that a score falls in; undefined when none fits. */
export function findScoreLabel(score: number, labels: readonly ScoreLabel[]): string | undefined {
  return labels.find((band) => isInBand(score, band))?.label;
}

function isInBand(score: number, band: ScoreLabel): boolean {
  return (band.upTo === undefined || score <= band.upTo) && (band.below === undefined || score < band.below);
}

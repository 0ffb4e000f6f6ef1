import { findBand } from '../domain/agreement/directed-score.ts';
import type { ScoreLabel } from './scorer.ts';

/** Finds the name of the band that contains a score; undefined when no band does. */
export function findScoreLabel(score: number, labels: readonly ScoreLabel[]): string | undefined {
  return labels[findBand(score, labels)]?.label;
}

export const MATCH_TYPES = ['exact', 'semantic', 'partial', 'missing'] as const;
export type MatchType = (typeof MATCH_TYPES)[number];

/** Values of matches and costs of penalties, as shares of the scale. */
export interface SimilarityWeights {
  readonly semanticThreshold: number;
  readonly exactMatchBonus: number;
  readonly missingPenalty: number;
  readonly contradictionPenalty: number;
  readonly extraInfoPenalty: number;
}

/** Largest penalty for extra statements. */
const MAX_EXTRA_PENALTY = 0.2;

/** Computes the mean value of the matches (an exact match counts 1) minus penalties; 0 without matches, never below 0. */
export function similarityShare(
  matches: readonly { readonly matchType: MatchType }[],
  extras: number,
  contradictions: number,
  weights: SimilarityWeights,
): number {
  if (matches.length === 0) {
    return 0;
  }
  const best = 1 + weights.exactMatchBonus;
  const worth: Record<MatchType, number> = {
    exact: best,
    semantic: weights.semanticThreshold,
    partial: weights.semanticThreshold * 0.5,
    missing: -weights.missingPenalty,
  };
  const sum = matches.reduce((total, { matchType }) => total + worth[matchType], 0);
  const lost =
    contradictions * weights.contradictionPenalty +
    Math.min(extras * weights.extraInfoPenalty, MAX_EXTRA_PENALTY);
  return Math.min(1, Math.max(0, sum / (matches.length * best) - lost));
}

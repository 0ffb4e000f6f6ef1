/** Value of each level of relevance. */
export const RELEVANCE_LEVELS = { high: 1, medium: 0.7, low: 0.3, none: 0 } as const;
export type RelevanceLevel = keyof typeof RELEVANCE_LEVELS;

export interface ContextPenalties {
  /** Penalty for each piece of high relevance that the answer did not use. Default 0.1. */
  readonly unusedHighRelevanceContext?: number;
  /** Penalty for each thing that is missing in the context. Default 0.15. */
  readonly missingContextPerItem?: number;
  /** Largest penalty for missing things. Default 0.5. */
  readonly maxMissingContextPenalty?: number;
}

/** Computes the mean level of the pieces (at least one) minus penalties, as a share of the scale. */
export function contextRelevanceShare(
  evaluations: readonly { readonly relevanceLevel: RelevanceLevel; readonly wasUsed: boolean }[],
  missing: number,
  penalties: ContextPenalties,
): number {
  const {
    unusedHighRelevanceContext = 0.1,
    missingContextPerItem = 0.15,
    maxMissingContextPenalty = 0.5,
  } = penalties;
  const levels: number[] = evaluations.map(({ relevanceLevel }) => RELEVANCE_LEVELS[relevanceLevel]);
  const mean = levels.reduce((sum, level) => sum + level, 0) / levels.length;
  const unused = evaluations.filter(({ relevanceLevel, wasUsed }) => relevanceLevel === 'high' && !wasUsed);
  const lost =
    unused.length * unusedHighRelevanceContext +
    Math.min(missing * missingContextPerItem, maxMissingContextPenalty);
  return Math.max(0, mean - lost);
}

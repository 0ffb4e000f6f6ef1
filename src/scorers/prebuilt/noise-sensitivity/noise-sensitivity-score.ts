export const IMPACT_LEVELS = ['none', 'minimal', 'moderate', 'significant', 'severe'] as const;
export type ImpactLevel = (typeof IMPACT_LEVELS)[number];

/** Weights that turn dimensions and issues into a score. */
export interface NoiseScoring {
  /** Weight of a dimension by its level. Default 1, 0.85, 0.6, 0.3, 0.1. */
  readonly impactWeights?: Partial<Record<ImpactLevel, number>>;
  readonly penalties?: {
    /** Default 0.1. */
    readonly majorIssuePerItem?: number;
    /** Default 0.3. */
    readonly maxMajorIssuePenalty?: number;
  };
  /** Largest difference between the judge's number and the levels; beyond it the lower of the two counts. Default 0.2. */
  readonly discrepancyThreshold?: number;
}

const IMPACT_WEIGHTS: Record<ImpactLevel, number> = {
  none: 1,
  minimal: 0.85,
  moderate: 0.6,
  significant: 0.3,
  severe: 0.1,
};

/** Computes a score from 0 to 1: the judge's number, checked against the levels of the dimensions, minus major issues. */
export function computeRobustness(
  judged: number,
  dimensions: readonly { readonly impactLevel: ImpactLevel }[],
  majorIssues: number,
  scoring: NoiseScoring,
): number {
  const weights = { ...IMPACT_WEIGHTS, ...scoring.impactWeights };
  const { majorIssuePerItem = 0.1, maxMajorIssuePenalty = 0.3 } = scoring.penalties ?? {};
  const { discrepancyThreshold = 0.2 } = scoring;
  const said = Math.min(1, Math.max(0, judged));
  const levels = dimensions.map(({ impactLevel }) => weights[impactLevel]);
  const mean = levels.length === 0 ? said : levels.reduce((sum, weight) => sum + weight, 0) / levels.length;
  const agreed = Math.abs(said - mean) > discrepancyThreshold ? Math.min(said, mean) : said;
  return Math.max(0, agreed - Math.min(majorIssues * majorIssuePerItem, maxMajorIssuePenalty));
}

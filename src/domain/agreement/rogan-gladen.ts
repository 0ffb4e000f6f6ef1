import { Z_95 } from './normal-quantile.ts';

/** Share that was observed in a sample. */
export interface ObservedShare {
  readonly share: number;
  /** Size of the sample. */
  readonly n: number;
}

/** Estimate with its 95 % interval. */
export interface CorrectedShare {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Corrects the share of positive answers of a rater that makes mistakes: (observed + specificity - 1) / (sensitivity + specificity - 1).
 * The interval is that of large samples, with the uncertainty of all three shares (W. J. Rogan and B. Gladen, Estimating prevalence from
 * the results of a screening test, American Journal of Epidemiology 107, 1978). Estimate and interval are held within 0 and 1. Null for
 * a rater that is no better than chance, and without observations.
 */
export function correctShare(
  observed: ObservedShare,
  { sensitivity, specificity }: { readonly sensitivity: ObservedShare; readonly specificity: ObservedShare },
): CorrectedShare | null {
  const youden = sensitivity.share + specificity.share - 1;
  if (youden <= 0 || [observed, sensitivity, specificity].some(({ n }) => n <= 0)) {
    return null;
  }
  const share = (observed.share + specificity.share - 1) / youden;
  const variance =
    (computeVariance(observed) +
      share ** 2 * computeVariance(sensitivity) +
      (1 - share) ** 2 * computeVariance(specificity)) /
    youden ** 2;
  const margin = Z_95 * Math.sqrt(variance);
  return { share: hold(share), low: hold(share - margin), high: hold(share + margin) };
}

function computeVariance({ share, n }: ObservedShare): number {
  return (share * (1 - share)) / n;
}

function hold(share: number): number {
  return Math.min(1, Math.max(0, share));
}

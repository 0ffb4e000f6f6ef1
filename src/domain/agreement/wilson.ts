import { Z_95 } from './normal-quantile.ts';
import type { ObservedShare } from './rogan-gladen.ts';

/** Interval of a share. */
export interface ShareInterval {
  readonly low: number;
  readonly high: number;
}

/**
 * Computes the 95 % interval of a share by its score (E. B. Wilson, Probable inference, the law of succession, and statistical inference,
 * Journal of the American Statistical Association 22, 1927). It stays within 0 and 1, and is right also for few observations and for
 * shares of 0 and 1. For weighted observations, `n` is their effective number. Null without observations.
 */
export function computeWilsonInterval({ share, n }: ObservedShare): ShareInterval | null {
  if (n <= 0) {
    return null;
  }
  const square = Z_95 ** 2 / n;
  const middle = share + square / 2;
  const margin = Math.sqrt(square * (share * (1 - share) + square / 4));
  return {
    low: Math.max(0, (middle - margin) / (1 + square)),
    high: Math.min(1, (middle + margin) / (1 + square)),
  };
}

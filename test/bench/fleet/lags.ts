import type { Cohort } from './backlog.ts';

/** Waiting times of decided traces, in whole seconds. */
export interface Lags {
  add(cohorts: readonly Cohort[], decidedAtS: number): void;
  /** Returns the time within which this share of the traces was decided; NaN without a trace. */
  quantile(share: number): number;
  /** Returns the share of the traces that was decided within so many seconds. */
  shareWithin(seconds: number): number;
  most(): number;
  traces(): number;
}

/** Creates an empty record of waiting times. */
export function createLags(): Lags {
  const counts: number[] = [];
  let all = 0;
  return {
    add(cohorts, decidedAtS) {
      for (const { readyAtS, traces } of cohorts) {
        const lagS = decidedAtS - readyAtS;
        counts[lagS] = (counts[lagS] ?? 0) + traces;
        all += traces;
      }
    },
    quantile(share) {
      let below = 0;
      const found = Array.from(counts, (traces: number | undefined) => (below += traces ?? 0)).findIndex(
        (sum) => sum >= share * all,
      );
      return all === 0 ? Number.NaN : found;
    },
    shareWithin: (seconds) => counts.slice(0, seconds + 1).reduce((sum, traces) => sum + traces, 0) / all,
    most: () => counts.length - 1,
    traces: () => all,
  };
}

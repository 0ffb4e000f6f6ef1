import { sumHistogram } from '../bucket.ts';
import type { Detector } from '../detector.ts';
import { QUIET } from '../detector.ts';

export interface NoDataState {
  /** Start of the latest bucket with a score; null before the first score: a series that never had scores is not missed. */
  readonly lastScoreMs: number | null;
  readonly silent: boolean;
}

/** No data: a series that had scores has had none for `afterMs`. Missing scores never count as a score of 0. */
export function noDataDetector({ afterMs }: { readonly afterMs: number }): Detector<NoDataState> {
  return {
    start: () => ({ lastScoreMs: null, silent: false }),
    step({ lastScoreMs }, { startMs, scores }) {
      if (sumHistogram(scores).count > 0) {
        return { lastScoreMs: startMs, silent: false };
      }
      return { lastScoreMs, silent: lastScoreMs !== null && startMs - lastScoreMs >= afterMs };
    },
    condition: ({ silent, lastScoreMs }) =>
      silent && lastScoreMs !== null
        ? {
            kind: 'breached',
            finding: { changeBeganMs: lastScoreMs, before: null, after: null, count: 0, evidenceLog10: null },
          }
        : QUIET,
    gauges: () => ({ baseline: null, evidenceLog10: null }),
  };
}

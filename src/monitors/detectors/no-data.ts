import { sumHistogram } from '../bucket.ts';
import type { Detector } from '../detector.ts';
import { QUIET } from '../detector.ts';
import { DAY_MS } from '../../domain/durations.ts';

/** Silence beyond `afterMs` after which an agent counts as retired and its incident ends, milliseconds. */
const RETIRED_AFTER_MS = 7 * DAY_MS;

export interface NoDataState {
  /** Start of the latest bucket with a score; null before the first score: a series that never had scores is not missed. */
  readonly lastScoreMs: number | null;
  /** Start of the latest bucket since then in which no process ran: silence is counted from there. Null without one. */
  readonly absentMs: number | null;
  readonly silent: boolean;
}

/** No data: a series that had scores has had none for `afterMs` in which a process ran. Missing scores never count as 0. */
export function noDataDetector({ afterMs }: { readonly afterMs: number }): Detector<NoDataState> {
  return {
    start: () => ({ lastScoreMs: null, absentMs: null, silent: false }),
    step(state, { startMs, scores, isUnobserved }) {
      if (sumHistogram(scores).count > 0) {
        return { lastScoreMs: startMs, absentMs: null, silent: false };
      }
      const { lastScoreMs } = state;
      if (lastScoreMs === null) {
        return state;
      }
      const isRetired = startMs - lastScoreMs >= afterMs + RETIRED_AFTER_MS;
      const absentMs = isUnobserved === true ? startMs : state.absentMs;
      const isDue = startMs - Math.max(lastScoreMs, absentMs ?? lastScoreMs) >= afterMs;
      return { lastScoreMs, absentMs, silent: !isRetired && (state.silent || isDue) };
    },
    condition: ({ silent, lastScoreMs }) =>
      silent && lastScoreMs !== null
        ? {
            kind: 'breached',
            finding: { changeBeganMs: lastScoreMs, before: null, after: null, count: 0, evidenceLog10: null },
          }
        : QUIET,
    gauges: () => ({ baseline: null, limit: null, evidenceLog10: null }),
  };
}

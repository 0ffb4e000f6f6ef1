import { driftDetector } from '../../../src/monitors/detectors/drift.ts';
import type { Bucket } from '../../../src/monitors/bucket.ts';
import { foldBucket, type SeriesState, createSeries } from '../../../src/monitors/series.ts';
import { AT_ONCE, DAY_MS, MONITOR_START_MS, ONE_SERIES } from '../../support/monitors/fold-scores.ts';
import { scoreBuckets } from '../../support/builders/score-streams.ts';
import { median } from '../measured-time.ts';

const SERIES = 10_000;
/** Time of a thread is counted in ticks of some milliseconds: a measurement takes many of them. */
const CHECKS_AT_ONCE = 10;
const MEASUREMENTS = 8;
const WATCH_FROM_MS = MONITOR_START_MS + 15 * DAY_MS;

/**
 * Checks of a series that a core makes in a second, over 10,000 series with a pinned baseline each: the median of some rounds.
 */
export function checksPerSecond(perHour: number): number {
  const detector = driftDetector({
    tolerance: 0.02,
    reference: { days: 14, minScores: 300, minDays: 3 },
    direction: 'down',
    thresholds: ONE_SERIES,
  });
  let learned = createSeries(detector);
  const watched: Bucket[] = [];
  for (const bucket of scoreBuckets({
    family: 'infl',
    perHour,
    days: 20,
    seed: 1,
    startMs: MONITOR_START_MS,
  })) {
    if (bucket.startMs < WATCH_FROM_MS) {
      learned = foldBucket(detector, AT_ONCE, learned, bucket).state;
    } else {
      watched.push(bucket);
    }
  }
  const states = Array.from(
    { length: SERIES },
    (): SeriesState<ReturnType<typeof detector.start>> => learned,
  );
  const rates = Array.from({ length: MEASUREMENTS }, (_, part) => {
    const buckets = watched.slice(part * CHECKS_AT_ONCE, (part + 1) * CHECKS_AT_ONCE);
    const before = process.threadCpuUsage();
    let checks = 0;
    for (const bucket of buckets) {
      for (const [index, state] of states.entries()) {
        const next = foldBucket(detector, AT_ONCE, state, bucket).state;
        checks += next.checks - state.checks;
        states[index] = next;
      }
    }
    const { user, system } = process.threadCpuUsage(before);
    return checks / ((user + system) / 1e6);
  });
  return median(rates.slice(1));
}

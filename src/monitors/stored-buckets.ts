import type { BucketRange, MonitorStore, SeriesBucket } from './monitor-store.ts';
import { computeSeriesKey } from './series-key.ts';
import { HOUR_MS } from '../domain/durations.ts';

/** Length of time that is closed or read with one query, milliseconds. */
const WINDOW_MS = 6 * HOUR_MS;

/** Rows of one bucket by `computeSeriesKey`. */
export interface ReceivedBucket {
  readonly startMs: number;
  readonly received: ReadonlyMap<string, SeriesBucket>;
}

/** Splits a range into windows of one query each. */
export function* splitIntoWindows({ intervalMs, fromMs, toMs }: BucketRange): Generator<BucketRange> {
  const stepMs = Math.max(intervalMs, Math.floor(WINDOW_MS / intervalMs) * intervalMs);
  for (let startMs = fromMs; startMs < toMs; startMs += stepMs) {
    yield { intervalMs, fromMs: startMs, toMs: Math.min(startMs + stepMs, toMs) };
  }
}

/** Yields every bucket of a range in order of time, empty ones included. */
export async function* storedBuckets(
  store: Pick<MonitorStore, 'buckets'>,
  range: BucketRange,
): AsyncGenerator<ReceivedBucket> {
  for (const window of splitIntoWindows(range)) {
    let startMs = window.fromMs;
    let received = new Map<string, SeriesBucket>();
    for await (const rows of store.buckets(window)) {
      for (const row of rows) {
        for (; startMs < row.bucket.startMs; startMs += range.intervalMs) {
          yield { startMs, received };
          received = new Map();
        }
        received.set(computeSeriesKey(row.series), row);
      }
    }
    for (; startMs < window.toMs; startMs += range.intervalMs) {
      yield { startMs, received };
      received = new Map();
    }
  }
}

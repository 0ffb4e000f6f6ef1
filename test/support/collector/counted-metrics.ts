import type { MetricWriter } from '../../../src/telemetry/metrics.ts';

export interface CountedMetrics extends MetricWriter {
  /** Sum of what was added to a counter, or to one of its labels (`name label`); of a histogram, the number of its values. */
  readonly count: (name: string) => number;
}

/** Creates a writer of metrics that counts. */
export function countedMetrics(): CountedMetrics {
  const counts = new Map<string, number>();
  const count = (name: string): number => counts.get(name) ?? 0;
  return {
    count,
    add: (name, by, labels = {}) => {
      for (const key of [name, ...Object.values(labels).map((label) => `${name} ${label}`)]) {
        counts.set(key, count(key) + by);
      }
    },
    record: (name) => void counts.set(name, count(name) + 1),
  };
}

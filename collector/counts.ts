/** What a collector counts; the names are those of its counters. */
const COLLECTOR_COUNTS = [
  'requests',
  'refused_requests',
  'spans_accepted',
  'spans_rejected',
  'spans_stubbed',
  'logs_accepted',
  'logs_rejected',
  'logs_dropped',
  'inserts',
  'insert_retries',
  'insert_failures',
  'connections_dropped',
  'kafka_records',
  'kafka_restarts',
  'dead_letters',
] as const;

export type CollectorCount = (typeof COLLECTOR_COUNTS)[number];

/** Called for everything counted, e.g. to feed metrics. `reason` is an error code where one applies. */
export type OnCount = (name: CollectorCount, by: number, reason?: string) => void;

/** Keeps totals and hands every count on. */
export interface Counter {
  add(name: CollectorCount, by?: number, reason?: string): void;
  totals(): Record<CollectorCount, number>;
}

export function createCounter(onCount?: OnCount): Counter {
  const totals = Object.fromEntries(COLLECTOR_COUNTS.map((name) => [name, 0])) as Record<
    CollectorCount,
    number
  >;
  return {
    add(name, by = 1, reason) {
      if (by > 0) {
        totals[name] += by;
        onCount?.(name, by, reason);
      }
    },
    totals: () => ({ ...totals }),
  };
}

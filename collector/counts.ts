/** Counts of a collector, by the names of its counters. */
const COLLECTOR_COUNTS = [
  'requests',
  'refused_requests',
  'spans_accepted',
  'spans_rejected',
  'spans_stubbed',
  'logs_accepted',
  'logs_rejected',
  'logs_dropped',
  'records_purged',
  'inserts',
  'insert_retries',
  'insert_failures',
  'connections_dropped',
  'kafka_records',
  'kafka_restarts',
  'dead_letters',
] as const;

export type CollectorCount = (typeof COLLECTOR_COUNTS)[number];

/** Called for each count, for example to feed metrics. `reason` is an error code, when there is one. */
type OnCount = (name: CollectorCount, by: number, reason?: string) => void;

/** Measures of a collector, taken once for each request or block, never for each span. */
export type CollectorMeasure = 'request_ms' | 'insert_ms' | 'insert_rows' | 'insert_bytes';

/** Called for each measure. */
type OnMeasure = (name: CollectorMeasure, value: number, labels: Readonly<Record<string, string>>) => void;

/** Listener of counts. */
export interface CountListener {
  readonly onCount?: OnCount;
  readonly onMeasure?: OnMeasure;
}

/** Keeps totals and passes every count on. */
export interface Counter {
  add(name: CollectorCount, by?: number, reason?: string): void;
  /** Passes a measure on; keeps nothing. */
  measure: OnMeasure;
  totals(): Record<CollectorCount, number>;
}

export function createCounter({ onCount, onMeasure }: CountListener = {}): Counter {
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
    measure: (name, value, labels) => onMeasure?.(name, value, labels),
    totals: () => ({ ...totals }),
  };
}

import type { CounterName, HistogramName } from '../src/telemetry/metric-catalogue.ts';
import type { MetricLabels, MetricWriter, Reading } from '../src/telemetry/metrics.ts';
import type { Collector } from './collector.ts';
import type { CollectorCount, CollectorMeasure, CountListener } from './counts.ts';

interface Counted {
  readonly name: CounterName;
  readonly labels?: MetricLabels;
  /** Label that holds the reason of a count. */
  readonly reason?: string;
}

/** Metric of each count. Inserts have no counter here, because their histogram counts them. */
const COUNTERS: Partial<Record<CollectorCount, Counted>> = {
  requests: { name: 'spanscore.receiver.requests' },
  refused_requests: { name: 'spanscore.receiver.requests.refused', reason: 'reason' },
  spans_accepted: { name: 'spanscore.receiver.records.written', labels: { signal: 'traces' } },
  logs_accepted: { name: 'spanscore.receiver.records.written', labels: { signal: 'logs' } },
  spans_rejected: { name: 'spanscore.receiver.records.rejected', labels: { signal: 'traces' } },
  logs_rejected: { name: 'spanscore.receiver.records.rejected', labels: { signal: 'logs' } },
  spans_stubbed: { name: 'spanscore.receiver.spans.stubbed' },
  logs_dropped: { name: 'spanscore.receiver.logs.dropped' },
  records_purged: { name: 'spanscore.receiver.records.purged' },
  insert_retries: { name: 'spanscore.insert.retries' },
  insert_failures: { name: 'spanscore.insert.failures', reason: 'reason' },
  connections_dropped: { name: 'spanscore.receiver.connections.dropped' },
  kafka_records: { name: 'spanscore.kafka.records' },
  kafka_restarts: { name: 'spanscore.kafka.restarts' },
  dead_letters: { name: 'spanscore.dead_letters', reason: 'reason' },
};

const MS_PER_S = 1_000;

/** Metric of each measure, and the divisor into its unit. */
const HISTOGRAMS: Record<CollectorMeasure, readonly [HistogramName, number]> = {
  request_ms: ['spanscore.receiver.duration', MS_PER_S],
  insert_ms: ['spanscore.insert.duration', MS_PER_S],
  insert_rows: ['spanscore.insert.rows', 1],
  insert_bytes: ['spanscore.insert.size', 1],
};

/** Creates a listener that writes counts and measures of a collector as metrics. */
export function metricListener(metrics: MetricWriter): Required<CountListener> {
  return {
    onCount(count, by, reason) {
      const counted = COUNTERS[count];
      if (counted !== undefined) {
        const reasonLabel = counted.reason === undefined ? {} : { [counted.reason]: reason ?? 'unknown' };
        metrics.add(counted.name, by, { ...counted.labels, ...reasonLabel });
      }
    },
    onMeasure(measure, value, labels) {
      const [name, divisor] = HISTOGRAMS[measure];
      metrics.record(name, value / divisor, labels);
    },
  };
}

/** Current metrics of a collector and its receivers. */
export function collectorReadings({ stats, readings }: Pick<Collector, 'stats' | 'readings'>): Reading[] {
  const { heldBytes, pendingRowBytes, insertsRunning, oldestRequestMs } = stats();
  return [
    { name: 'spanscore.receiver.held', value: heldBytes },
    { name: 'spanscore.receiver.oldest_request.age', value: oldestRequestMs / MS_PER_S },
    { name: 'spanscore.insert.pending', value: pendingRowBytes },
    { name: 'spanscore.insert.running', value: insertsRunning },
    ...readings(),
  ];
}

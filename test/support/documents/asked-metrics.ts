import { METRICS, prometheusName, type MetricSpec } from '../../../src/telemetry/metric-catalogue.ts';

/** Names of series under which Prometheus stores our metrics. */
const SERIES = new Set(
  Object.entries<MetricSpec>(METRICS).flatMap(([name, spec]) => {
    const told = prometheusName(name, spec);
    return spec.kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => told + end) : [told];
  }),
);

/** Metrics of the OpenTelemetry Collector that alerts and dashboards ask for. test/peers finds them in a real one. */
export const COLLECTOR_METRICS = [
  'otelcol_exporter_queue_capacity',
  'otelcol_exporter_queue_size',
  'otelcol_exporter_send_failed_log_records',
  'otelcol_exporter_send_failed_spans',
  'otelcol_receiver_accepted_log_records',
  'otelcol_receiver_accepted_spans',
  'otelcol_receiver_refused_log_records',
  'otelcol_receiver_refused_spans',
] as const;

/** Returns the metrics of spanscore and of the Collector that PromQL expressions ask for, and those that nobody has: neither a process nor a rule. */
export function findAskedMetrics(
  expressions: readonly string[],
  recorded: ReadonlySet<string>,
): { asked: string[]; unknown: string[] } {
  const known = new Set([...SERIES, ...COLLECTOR_METRICS, ...recorded]);
  const asked = expressions
    .flatMap((expression) => [
      ...expression.matchAll(/(?<![\w:])(?:job:\w+:\w+|(?:spanscore|process|nodejs|otelcol)_\w+)/g),
    ])
    .map(([name]) => name);
  return { asked, unknown: asked.filter((name) => !known.has(name)) };
}

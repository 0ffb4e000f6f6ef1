/** Alert on spanscore itself. docs/operations.md has a section with its name. */
export interface SpanscoreAlert {
  readonly name: string;
  /** PromQL whose values are compared with the bound. It can stand before a comparison as it is. */
  readonly query: string;
  readonly fires: { readonly above: number } | { readonly below: number };
  /** Time for which the condition must last. Absent: it fires at once. */
  readonly for?: string;
  readonly severity: 'critical' | 'warning';
  /** Summary with templates of Prometheus: `$labels` and `$value`. */
  readonly summary: string;
}

/** Returns the page and the section that say what an alert means, below the folder of the pages. */
export function nameSection(alert: string): string {
  return `operations.md#${alert.toLowerCase()}`;
}

/** Returns the growth of a counter in a quarter of an hour. A series that begins in this time counts with its first value. */
function newCounts(counter: string, labels = 'job, instance, reason'): string {
  return `(
  sum by (${labels}) (increase(${counter}[15m])) > 0
  or sum by (${labels}) (${counter} unless ${counter} offset 15m)
)`;
}

/** Returns the selector of a counter of the Collector. Versions and configurations differ in whether its name ends with _total. */
export function collectorCounter(name: string): string {
  return `{__name__=~"${name}(_total)?", job="otel-collector"}`;
}

/** Alerts on spanscore itself, from which the rules of Prometheus and of Grafana are made. */
export const SPANSCORE_ALERTS: readonly SpanscoreAlert[] = [
  {
    name: 'SpanscoreDown',
    query: 'up{job="spanscore"}',
    fires: { below: 1 },
    for: '2m',
    severity: 'critical',
    summary: '{{ $labels.instance }} does not answer',
  },
  {
    name: 'SpanscoreNotScraped',
    query: 'absent(up{job="spanscore"})',
    fires: { above: 0 },
    for: '5m',
    severity: 'critical',
    summary: 'Prometheus has no target with the job spanscore',
  },
  {
    name: 'SpanscoreRefusesRequests',
    query: 'job:spanscore_receiver_requests_refused:rate5m / (job:spanscore_receiver_requests:rate5m > 0)',
    fires: { above: 0.05 },
    for: '10m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the export requests are refused',
  },
  {
    name: 'SpanscoreInsertsFail',
    query: newCounts('spanscore_insert_failures_total'),
    fires: { above: 0 },
    severity: 'critical',
    summary: 'blocks of {{ $labels.instance }} were not stored ({{ $labels.reason }})',
  },
  {
    name: 'SpanscoreRequestsWait',
    query: 'max by (job, instance) (spanscore_receiver_oldest_request_age_seconds)',
    fires: { above: 30 },
    for: '5m',
    severity: 'warning',
    summary: 'a request to {{ $labels.instance }} has waited for {{ $value | humanizeDuration }}',
  },
  {
    name: 'SpanscoreKafkaLags',
    query: 'job:spanscore_kafka_lag:sum',
    fires: { above: 100_000 },
    for: '15m',
    severity: 'warning',
    summary: '{{ $value | humanize }} records of Kafka are not stored yet',
  },
  {
    name: 'SpanscoreKafkaDisconnected',
    query: 'spanscore_kafka_connected',
    fires: { below: 1 },
    for: '5m',
    severity: 'critical',
    summary: '{{ $labels.instance }} is no member of its consumer group',
  },
  {
    name: 'SpanscoreDeadLetters',
    query: newCounts('spanscore_dead_letters_total'),
    fires: { above: 0 },
    severity: 'warning',
    summary: 'new dead letters ({{ $labels.reason }})',
  },
  {
    name: 'SpanscoreEngineDown',
    query: 'spanscore_engine_up',
    fires: { below: 1 },
    for: '1m',
    severity: 'critical',
    summary: 'the embedded engine of {{ $labels.instance }} does not run',
  },
  {
    name: 'SpanscoreDiskFills',
    query: `(
  spanscore_disk_free_bytes / spanscore_disk_limit_bytes
  or node_filesystem_avail_bytes{mountpoint="/var/lib/clickhouse"} / node_filesystem_size_bytes
  or node_filesystem_avail_bytes{mountpoint="/", job=~".*clickhouse.*"} / node_filesystem_size_bytes
  or kubelet_volume_stats_available_bytes{persistentvolumeclaim=~".*clickhouse.*"} / kubelet_volume_stats_capacity_bytes
)`,
    fires: { below: 0.15 },
    for: '10m',
    severity: 'warning',
    summary: 'only {{ $value | humanizePercentage }} of the disk is free',
  },
  {
    name: 'SpanscoreScoringLags',
    query: 'job:spanscore_scoring_queue_age_seconds:max',
    fires: { above: 600 },
    for: '10m',
    severity: 'warning',
    summary: 'a complete trace has waited for {{ $value | humanizeDuration }} to be scored',
  },
  {
    name: 'SpanscoreScorersFail',
    query: 'job:spanscore_decisions_failed:ratio30m',
    fires: { above: 0.05 },
    for: '15m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the attempts to score failed for good',
  },
  {
    name: 'SpanscoreJudgeFails',
    query: 'max by (job, judge, scorer) (spanscore_judge_failing)',
    fires: { above: 0 },
    for: '10m',
    severity: 'warning',
    summary: '{{ $labels.scorer }} gets no usable reply from {{ $labels.judge }}',
  },
  {
    name: 'SpanscoreJudgeQueueWaits',
    query: 'max by (job) (spanscore_judge_queue_wait_seconds)',
    fires: { above: 900 },
    for: '15m',
    severity: 'warning',
    summary: 'a prepared run has waited for {{ $value | humanizeDuration }} for a place of its judge',
  },
  {
    name: 'SpanscoreBudgetNearCap',
    query: 'job:spanscore_budget_spent:ratio',
    fires: { above: 0.9 },
    severity: 'warning',
    summary:
      '{{ $value | humanizePercentage }} of a budget is spent ({{ $labels.scope }} {{ $labels.rule }}{{ $labels.tenant }}, {{ $labels.period }})',
  },
  {
    name: 'SpanscoreOwnScorerPaused',
    query: 'max by (job, scorer) (spanscore_guest_paused)',
    fires: { above: 0 },
    for: '10m',
    severity: 'warning',
    summary: '{{ $labels.scorer }} pauses, because its runs exceed the time limit',
  },
  {
    name: 'SpanscoreExportFails',
    query: 'sum by (job, exporter) (rate(spanscore_export_failures_total[5m]))',
    fires: { above: 0 },
    for: '15m',
    severity: 'warning',
    summary: '{{ $labels.exporter }} takes no scores',
  },
  {
    name: 'SpanscoreAlertsUndelivered',
    query: 'sum by (job, channel) (rate(spanscore_alert_failures_total[5m]))',
    fires: { above: 0 },
    for: '15m',
    severity: 'critical',
    summary: '{{ $labels.channel }} takes no alerts of monitors',
  },
  {
    name: 'SpanscoreStalls',
    query: 'nodejs_eventloop_delay_p99_seconds{job="spanscore"}',
    fires: { above: 1 },
    for: '10m',
    severity: 'warning',
    summary: 'the event loop of {{ $labels.instance }} stalls for {{ $value | humanizeDuration }}',
  },
  {
    name: 'SpanscoreCollectorQueueFills',
    query: 'otelcol_exporter_queue_size{job="otel-collector"} / otelcol_exporter_queue_capacity',
    fires: { above: 0.8 },
    for: '5m',
    severity: 'warning',
    summary:
      'the queue of the Collector {{ $labels.instance }} to {{ $labels.exporter }} is {{ $value | humanizePercentage }} full',
  },
  {
    name: 'SpanscoreCollectorRefuses',
    query: `(
  sum by (job, instance) (rate(${collectorCounter('otelcol_receiver_refused_spans')}[5m])) > 0
  or sum by (job, instance) (rate(${collectorCounter('otelcol_receiver_refused_log_records')}[5m]))
)`,
    fires: { above: 0 },
    for: '5m',
    severity: 'warning',
    summary:
      'the Collector {{ $labels.instance }} refuses {{ $value | humanize }} spans or log records a second',
  },
  {
    name: 'SpanscoreCollectorLoses',
    query: `(
  ${newCounts(collectorCounter('otelcol_exporter_send_failed_spans'), 'job, instance, exporter')} > 0
  or ${newCounts(collectorCounter('otelcol_exporter_send_failed_log_records'), 'job, instance, exporter')}
)`,
    fires: { above: 0 },
    severity: 'critical',
    summary:
      'the Collector {{ $labels.instance }} gave up spans or log records that {{ $labels.exporter }} did not take',
  },
];

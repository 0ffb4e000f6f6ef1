import { collectorCounter } from '../alert-rules/spanscore-alerts.ts';
import { promql, stat, timeSeries, type Dashboard, type Panel, type Target } from './dashboard.ts';

/** Creates a panel of a third of the page. */
function third(
  title: string,
  unit: string,
  description: string,
  targets: readonly Target[],
  stack?: Panel['stack'],
): Panel {
  return timeSeries(title, {
    description,
    unit,
    targets,
    width: 8,
    min: 0,
    ...(stack === undefined ? {} : { stack }),
  });
}

/** Returns how much a counter of the Collector grows in a second, by Collector. */
function collectorRate(counter: string): string {
  return `sum by (instance) (rate(${collectorCounter(counter)}[5m]))`;
}

/** The dashboard of spanscore itself: whether it keeps up, and what it costs. */
export const OPERATIONS_DASHBOARD: Dashboard = {
  uid: 'spanscore-operations',
  title: 'spanscore: operations',
  description:
    'Ingest, lag, scoring, judges and cost of spanscore itself. It needs the recording rules of deploy/prometheus.',
  variables: [{ kind: 'datasource', name: 'prometheus', label: 'Prometheus', plugin: 'prometheus' }],
  annotations: [],
  rows: [
    {
      title: 'Now',
      panels: [
        stat('Processes', {
          description: 'Processes that answer the scrape.',
          width: 4,
          unit: 'short',
          targets: [promql('sum(up{job="spanscore"})', 'up')],
        }),
        stat('Oldest trace to score', {
          description: 'Time since the oldest queued trace became ready.',
          width: 5,
          unit: 's',
          targets: [promql('job:spanscore_scoring_queue_age_seconds:max', 'age')],
        }),
        stat('Records in Kafka', {
          description: 'Records that are not stored yet.',
          width: 5,
          unit: 'short',
          targets: [promql('job:spanscore_kafka_lag:sum', 'lag')],
        }),
        stat('Judges that fail', {
          description: 'Pairs of a judge and a scorer whose last attempt failed.',
          width: 5,
          unit: 'short',
          targets: [promql('sum(max by (judge, scorer) (spanscore_judge_failing))', 'failing')],
        }),
        stat('Cost an hour', {
          description: 'Cost of judge calls at the speed of the last hour.',
          width: 5,
          unit: 'currencyUSD',
          targets: [promql('sum(job:spanscore_judge_cost:usd_per_hour)', 'USD')],
        }),
      ],
    },
    {
      title: 'Ingest',
      panels: [
        third('Records stored', 'cps', 'Spans and log records with durable rows, a second.', [
          promql('sum by (signal) (job:spanscore_receiver_records_written:rate5m)', '{{signal}}'),
        ]),
        third('Requests refused', 'reqps', 'Export requests that were answered with an error.', [
          promql('sum by (reason) (rate(spanscore_receiver_requests_refused_total[5m]))', '{{reason}}'),
        ]),
        third('Time to the acknowledgement', 's', '99th percentile, with the wait for the insert.', [
          promql('job:spanscore_receiver_duration_seconds:p99_5m', '{{transport}}'),
        ]),
        third('Time of an insert', 's', '99th percentile of one attempt, by table.', [
          promql('job:spanscore_insert_duration_seconds:p99_5m', '{{table}}'),
        ]),
        third('Bytes in memory', 'bytes', 'Requests and rows that wait for the store.', [
          promql('sum by (instance) (spanscore_receiver_held_bytes)', '{{instance}} held'),
          promql('sum by (instance) (spanscore_insert_pending_bytes)', '{{instance}} pending'),
        ]),
        third('Lag of Kafka', 'short', 'Records of each partition that are not stored yet.', [
          promql('max by (partition) (spanscore_kafka_lag)', '{{partition}}'),
        ]),
      ],
    },
    {
      title: 'Scoring',
      panels: [
        third(
          'Traces on their way',
          'short',
          'Traces without a final decision, by state.',
          [promql('sum by (state) (job:spanscore_scoring_traces:sum)', '{{state}}')],
          'normal',
        ),
        third(
          'Decisions',
          'cps',
          'Decisions a second, by status.',
          [promql('sum by (status) (job:spanscore_decisions:rate30m)', '{{status}}')],
          'normal',
        ),
        third(
          'Waits',
          's',
          'Oldest trace of each queue, and the 95th percentile from a ready trace to its score.',
          [
            promql('job:spanscore_scoring_queue_age_seconds:max', 'queued'),
            promql('max by (job) (spanscore_judge_queue_wait_seconds)', 'waits for a judge'),
            promql(
              'histogram_quantile(0.95, sum by (kind, le) (rate(spanscore_scoring_delay_seconds_bucket[5m])))',
              'until scored, {{kind}}',
            ),
          ],
        ),
      ],
    },
    {
      title: 'Judges and cost',
      panels: [
        third('Judge calls', 'cps', 'Calls a second, by model and status.', [
          promql('sum by (model, status) (job:spanscore_judge_calls:rate5m)', '{{model}} {{status}}'),
        ]),
        third('Time of a judge call', 's', '95th percentile, by model.', [
          promql(
            'histogram_quantile(0.95, sum by (model, le) (rate(spanscore_judge_duration_seconds_bucket[5m])))',
            '{{model}}',
          ),
        ]),
        third('Runs that wait for a judge', 'short', 'Judged scorers that run or wait for a place.', [
          promql('sum by (instance) (spanscore_judge_queue)', '{{instance}}'),
        ]),
        third(
          'Cost an hour',
          'currencyUSD',
          'Judge calls with a known price, at the speed of the last hour.',
          [promql('sum by (model) (job:spanscore_judge_cost:usd_per_hour)', '{{model}}')],
          'normal',
        ),
        third('Budgets', 'percentunit', 'Share of each cap that is spent in this day or month (UTC).', [
          promql('job:spanscore_budget_spent:ratio', '{{scope}} {{rule}}{{tenant}} {{period}}'),
        ]),
        third('Tokens', 'cps', 'Tokens a second, when the provider reports them.', [
          promql('sum by (model, type) (rate(spanscore_judge_tokens_total[5m]))', '{{model}} {{type}}'),
        ]),
      ],
    },
    {
      title: 'Collector in front',
      panels: [
        third('Spans and log records taken', 'cps', 'Acknowledged to senders, a second, by Collector.', [
          promql(collectorRate('otelcol_receiver_accepted_spans'), '{{instance}} spans'),
          promql(collectorRate('otelcol_receiver_accepted_log_records'), '{{instance}} log records'),
        ]),
        third('Refused', 'cps', 'Senders keep what is refused, and send it again.', [
          promql(collectorRate('otelcol_receiver_refused_spans'), '{{instance}} spans'),
          promql(collectorRate('otelcol_receiver_refused_log_records'), '{{instance}} log records'),
        ]),
        third('Queue', 'percentunit', 'Share of the room on disk that waiting data takes, by exporter.', [
          promql(
            'otelcol_exporter_queue_size{job="otel-collector"} / otelcol_exporter_queue_capacity',
            '{{instance}} {{exporter}} {{data_type}}',
          ),
        ]),
      ],
    },
    {
      title: 'Out, and the processes',
      panels: [
        third('Scores delivered', 'cps', 'By exporter and outcome.', [
          promql(
            'sum by (exporter, outcome) (rate(spanscore_export_scores_total[5m]))',
            '{{exporter}} {{outcome}}',
          ),
        ]),
        third('Dead letters', 'short', 'New dead letters in an hour, by reason.', [
          promql('sum by (reason) (increase(spanscore_dead_letters_total[1h]))', '{{reason}}'),
        ]),
        third('Delay of the event loop', 's', '99th percentile since the last scrape.', [
          promql('nodejs_eventloop_delay_p99_seconds{job="spanscore"}', '{{instance}}'),
        ]),
        third('Memory', 'bytes', 'Resident memory of each process and of its engine.', [
          promql('process_memory_usage_bytes{job="spanscore"}', '{{instance}}'),
          promql('spanscore_engine_memory_usage_bytes', '{{instance}} engine'),
        ]),
        third('Free disk', 'percentunit', 'Free share of the disk of the data directory (embedded engine).', [
          promql('spanscore_disk_free_bytes / spanscore_disk_limit_bytes', '{{instance}}'),
        ]),
        third('Processor time', 'short', 'Cores in use, by process.', [
          promql(
            'sum by (instance) (rate(process_cpu_time_seconds_total{job="spanscore"}[5m]))',
            '{{instance}}',
          ),
        ]),
        third('Monitored series', 'short', 'Series that monitors watch, by state.', [
          promql('sum by (state) (spanscore_monitor_series)', '{{state}}'),
        ]),
      ],
    },
  ],
};

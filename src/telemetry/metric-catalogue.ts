/**
 * Kind of a metric. `counter` and `histogram` are written when an event happens; `total` (only grows), `level` (sums over its
 * labels) and `gauge` (does not) are read at each scrape.
 */
export type MetricKind = 'counter' | 'histogram' | 'total' | 'level' | 'gauge';

export interface MetricSpec {
  readonly kind: MetricKind;
  /** UCUM, as in OpenTelemetry: `s`, `By`, `{span}`. */
  readonly unit: string;
  readonly description: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets, in its unit. */
  readonly bounds?: readonly number[];
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const ROWS = [1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
const MIB = 1024 * 1024;
const BYTES = [1_024, 16_384, 131_072, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB];

/** Labels of a monitored series; the last four where its rule splits by them. */
const SERIES = [
  'alert',
  'tenant',
  'scorer',
  'fingerprint',
  'agent',
  'environment',
  'model',
  'agent_version',
  'service_version',
  'service',
] as const;

/** Word of a Prometheus name for a unit. A unit in braces is an annotation and adds no word. */
const UNIT_WORDS: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes' };

/**
 * Name of a metric in Prometheus' text format, by OpenTelemetry's rule: `_` for each point, then the unit, then `_total` for a
 * value that only grows.
 */
export function prometheusName(name: string, { kind, unit }: Pick<MetricSpec, 'kind' | 'unit'>): string {
  const isTotal = kind === 'counter' || kind === 'total';
  return [name.replaceAll('.', '_'), UNIT_WORDS[unit], isTotal ? 'total' : undefined]
    .filter((part) => part !== undefined)
    .join('_');
}

function counter(unit: string, description: string, ...labels: string[]): MetricSpec & { kind: 'counter' } {
  return { kind: 'counter', unit, description, labels };
}

function histogram(
  unit: string,
  bounds: readonly number[],
  description: string,
  ...labels: string[]
): MetricSpec & { kind: 'histogram' } {
  return { kind: 'histogram', unit, description, labels, bounds };
}

function observed<K extends 'total' | 'level' | 'gauge'>(
  kind: K,
  unit: string,
  description: string,
  ...labels: string[]
): MetricSpec & { kind: K } {
  return { kind, unit, description, labels };
}

/**
 * Every metric of this program, by its OpenTelemetry name. docs/metrics.md lists the same metrics. The rules of names:
 *
 * - A name begins with `spanscore.`. Metrics of the process have the names of OpenTelemetry's semantic conventions.
 * - A name has lower-case words: the part, the thing, then a property of the thing.
 * - A unit is a base unit: `s` for time, `By` for memory and sizes. What is counted stands in braces: `{span}`.
 * - An OpenTelemetry name has neither unit nor `total`. `prometheusName` adds both.
 */
export const METRICS = {
  'spanscore.receiver.requests': counter('{request}', 'Export requests that came, over HTTP and gRPC.'),
  'spanscore.receiver.requests.refused': counter(
    '{request}',
    'Export requests answered with an error.',
    'reason',
  ),
  'spanscore.receiver.duration': histogram(
    's',
    SECONDS,
    'From the headers of a request to its acknowledgement, which waits for the insert.',
    'transport',
  ),
  'spanscore.receiver.records.written': counter(
    '{record}',
    'Spans and log records whose rows are durable (or handed on, where this process forwards).',
    'signal',
  ),
  'spanscore.receiver.records.rejected': counter(
    '{record}',
    'Malformed or oversized spans and log records, reported to their senders.',
    'signal',
  ),
  'spanscore.receiver.spans.stubbed': counter(
    '{span}',
    'Spans of which only the place in the tree was kept.',
  ),
  'spanscore.receiver.logs.dropped': counter('{record}', 'Log records that are no GenAI events: not kept.'),
  'spanscore.receiver.connections.dropped': counter('{connection}', 'Connections closed above the limit.'),
  'spanscore.receiver.held': observed('level', 'By', 'Request and row bytes held in memory now.'),
  'spanscore.receiver.oldest_request.age': observed(
    'gauge',
    's',
    'Age of the oldest request that is not answered, or whose rows wait for the store.',
  ),
  'spanscore.insert.duration': histogram('s', SECONDS, 'One attempt to insert a block.', 'table', 'outcome'),
  'spanscore.insert.rows': histogram('{row}', ROWS, 'Rows of a block.', 'table'),
  'spanscore.insert.size': histogram('By', BYTES, 'Bytes of a block.', 'table'),
  'spanscore.insert.retries': counter('{attempt}', 'Inserts tried again.'),
  'spanscore.insert.failures': counter(
    '{block}',
    'Blocks that were not stored, after all attempts.',
    'reason',
  ),
  'spanscore.insert.pending': observed(
    'level',
    'By',
    'Row bytes that wait for their insert or are being inserted.',
  ),
  'spanscore.insert.running': observed('level', '{block}', 'Inserts under way.'),
  'spanscore.dead_letters': counter('{letter}', 'Records and rows set aside for `spanscore dlq`.', 'reason'),
  'spanscore.kafka.records': counter('{record}', 'Records taken from Kafka.'),
  'spanscore.kafka.restarts': counter('{consumer}', 'Consumers that ended for good and were replaced.'),
  'spanscore.kafka.connected': observed(
    'level',
    '{consumer}',
    'Consumers that are members of their group: 1 or 0.',
  ),
  'spanscore.kafka.lag': observed(
    'level',
    '{record}',
    'Records of a partition that are not yet committed, as of its last batch.',
    'partition',
  ),
  'spanscore.forward.records': counter('{record}', 'Kafka records that a broker acknowledged.'),
  'spanscore.forward.failures': counter(
    '{request}',
    'Requests that Kafka did not acknowledge in time.',
    'reason',
  ),
  'spanscore.forward.duration': histogram(
    's',
    SECONDS,
    "From a request's split to the broker's acknowledgement.",
  ),
  'spanscore.decisions': counter('{decision}', 'Decisions written.', 'status'),
  'spanscore.scores.written': counter('{score}', 'Score rows written.', 'scorer'),
  'spanscore.judge.calls': counter('{call}', 'Questions put to judges.', 'model', 'status'),
  'spanscore.judge.tokens': counter(
    '{token}',
    'Tokens of judge calls, where the provider told.',
    'model',
    'type',
  ),
  'spanscore.judge.cost': counter('{USD}', 'Cost of judge calls, where their price is known.', 'model'),
  'spanscore.judge.duration': histogram('s', SECONDS, 'One judge call.', 'model'),
  'spanscore.scoring.traces': observed(
    'level',
    '{trace}',
    'Traces on their way: waiting (still arriving), queued, running, retrying.',
    'state',
  ),
  'spanscore.scoring.traces.spilled': observed(
    'total',
    '{trace}',
    'Traces that found no room in memory and were left to the sweep.',
  ),
  'spanscore.judge.failing': observed(
    'level',
    '{scorer}',
    'Whether the last try of a scorer with its judge failed: 1 or 0.',
    'judge',
    'scorer',
  ),
  'spanscore.judge.failures': observed(
    'total',
    '{try}',
    'Tries of a scorer that were deferred or failed, by the kind of failure.',
    'judge',
    'scorer',
    'kind',
  ),
  'spanscore.budget': observed(
    'gauge',
    '{USD}',
    'Budget of a rule on this UTC day: spent, reserved by calls under way, cap; as of its last judge call here.',
    'rule',
    'state',
  ),
  'spanscore.judge.queue': observed('level', '{run}', 'Judged scorers that run or wait for a place.'),
  'spanscore.guest.processes': observed('level', '{process}', 'Processes of own scorers.', 'scorer'),
  'spanscore.guest.queue': observed('level', '{run}', 'Runs that wait for an own scorer.', 'scorer'),
  'spanscore.guest.paused': observed(
    'level',
    '{scorer}',
    'An own scorer pauses, since its runs give no result in time: 1 or 0.',
    'scorer',
  ),
  'spanscore.guest.faults': observed(
    'total',
    '{run}',
    'Runs of own scorers that ended without a result: timeout, out_of_memory, crash.',
    'scorer',
    'fault',
  ),
  'spanscore.export.scores': observed('total', '{score}', 'Scores sent out.', 'exporter', 'outcome'),
  'spanscore.export.failures': observed(
    'total',
    '{delivery}',
    'Deliveries that failed and are repeated.',
    'exporter',
  ),
  'spanscore.monitor.series': observed('level', '{series}', 'Series that monitors watch.', 'state'),
  'spanscore.monitor.state': observed(
    'level',
    '{series}',
    'Where a rule stands on a series: 1.',
    ...SERIES,
    'state',
  ),
  'spanscore.monitor.mean': observed(
    'gauge',
    '{score}',
    'Mean of the latest bucket of a series that held scores: 0 is worst, 1 best.',
    ...SERIES,
  ),
  'spanscore.monitor.baseline': observed(
    'gauge',
    '{score}',
    'The mean that is expected of a series.',
    ...SERIES,
  ),
  'spanscore.monitor.evidence': observed(
    'gauge',
    '{decade}',
    'Decimal logarithm of the evidence against "no change".',
    ...SERIES,
  ),
  'spanscore.alert.events': observed(
    'total',
    '{event}',
    'Beginnings and ends of incidents that were told, or given up and set aside.',
    'channel',
    'outcome',
  ),
  'spanscore.alert.failures': observed(
    'total',
    '{attempt}',
    'Attempts to tell of alerts that failed and are repeated.',
    'channel',
  ),
  'spanscore.engine.up': observed('level', '{process}', "The embedded engine's process lives: 1 or 0."),
  'spanscore.engine.memory.usage': observed(
    'level',
    'By',
    "Resident memory of the embedded engine's process.",
  ),
  'process.memory.usage': observed('level', 'By', 'Resident memory of this process.'),
  'process.cpu.time': observed('total', 's', 'CPU time of this process.', 'cpu.mode'),
  'process.uptime': observed('gauge', 's', 'How long this process has run.'),
  'nodejs.eventloop.delay.p50': observed('gauge', 's', 'Median delay of the event loop since the last look.'),
  'nodejs.eventloop.delay.p99': observed('gauge', 's', '99th percentile of it.'),
  'nodejs.eventloop.delay.max': observed(
    'gauge',
    's',
    'Longest delay of the event loop since the last look.',
  ),
} as const satisfies Readonly<Record<string, MetricSpec>>;

type Catalogue = typeof METRICS;

export type MetricName = keyof Catalogue;
export type CounterName = NamesOf<'counter'>;
export type HistogramName = NamesOf<'histogram'>;
export type ObservedName = NamesOf<'total' | 'level' | 'gauge'>;

type NamesOf<K extends MetricKind> = {
  [N in MetricName]: Catalogue[N]['kind'] extends K ? N : never;
}[MetricName];

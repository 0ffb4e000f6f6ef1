import { MIB } from '../domain/byte-sizes.ts';

/**
 * Kind of a metric. `counter` and `histogram` are written when an event happens; `total` (only grows), `level` (sums over its
 * labels) and `gauge` (does not) are read at each scrape.
 */
export type MetricKind = 'counter' | 'histogram' | 'total' | 'level' | 'gauge';

export interface MetricSpec {
  readonly kind: MetricKind;
  /** Unit in UCUM, as in OpenTelemetry: `s`, `By`, `{span}`. */
  readonly unit: string;
  readonly description: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets, in its unit. */
  readonly bounds?: readonly number[];
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Bounds of waits that backlogs and outages make long. */
const LONG_SECONDS = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600, 21_600];
const ROWS = [1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];
const BYTES = [1_024, 16_384, 131_072, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB];

/** Labels of a monitored series; it has the last four when its rule splits by them. */
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

/** Labels of a version of a scorer; the fingerprint has its first 8 digits. */
const VERSION = ['scorer', 'scorer_version', 'fingerprint'] as const;

/** Word of a unit in Prometheus names. A unit in braces is an annotation and adds no word. */
const UNIT_WORDS: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes' };

/**
 * Returns the name of a metric in the text format of Prometheus, by the rule of OpenTelemetry: `_` for each dot, then the
 * unit, then `_total` for a value that only grows.
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
 * - A unit is a base unit: `s` for time, `By` for memory and sizes. A counted thing is in braces: `{span}`.
 * - An OpenTelemetry name has neither unit nor `total`. `prometheusName` adds both.
 */
export const METRICS = {
  'spanscore.receiver.requests': counter('{request}', 'Export requests over HTTP and gRPC.'),
  'spanscore.receiver.requests.refused': counter(
    '{request}',
    'Export requests answered with an error.',
    'reason',
  ),
  'spanscore.receiver.duration': histogram(
    's',
    SECONDS,
    'Time from the headers of a request to its acknowledgement, with the wait for the insert.',
    'transport',
  ),
  'spanscore.receiver.records.written': counter(
    '{record}',
    'Spans and log records with durable rows.',
    'signal',
  ),
  'spanscore.receiver.records.rejected': counter(
    '{record}',
    'Malformed or oversized spans and log records, reported to their senders.',
    'signal',
  ),
  'spanscore.receiver.spans.stubbed': counter(
    '{span}',
    'Spans of which only the position in the tree was stored.',
  ),
  'spanscore.receiver.records.purged': counter(
    '{record}',
    'Spans and log records that were not stored, because their traces were purged.',
  ),
  'spanscore.receiver.logs.dropped': counter(
    '{record}',
    'Log records that were not stored, because they are no GenAI events.',
  ),
  'spanscore.receiver.connections.dropped': counter(
    '{connection}',
    'Connections closed because of the limit.',
  ),
  'spanscore.receiver.held': observed('level', 'By', 'Request and row bytes held in memory now.'),
  'spanscore.receiver.oldest_request.age': observed(
    'gauge',
    's',
    'Age of the oldest request without a reply, or with rows that wait for the store.',
  ),
  'spanscore.api.tokens.wrong': counter(
    '{request}',
    'Requests of the API with a token that is not in auth.tokens: bearer, sign-in.',
    'proof',
  ),
  'spanscore.insert.duration': histogram(
    's',
    SECONDS,
    'Time of one attempt to insert a block.',
    'table',
    'outcome',
  ),
  'spanscore.insert.rows': histogram('{row}', ROWS, 'Rows of a block.', 'table'),
  'spanscore.insert.size': histogram('By', BYTES, 'Bytes of a block.', 'table'),
  'spanscore.insert.retries': counter('{attempt}', 'Retries of inserts.'),
  'spanscore.insert.failures': counter(
    '{block}',
    'Blocks that were not stored after all attempts.',
    'reason',
  ),
  'spanscore.insert.pending': observed(
    'level',
    'By',
    'Row bytes that wait for their insert or are being inserted.',
  ),
  'spanscore.insert.running': observed('level', '{block}', 'Inserts under way.'),
  'spanscore.dead_letters': counter('{letter}', 'New dead letters, see `spanscore dlq`.', 'reason'),
  'spanscore.kafka.records': counter('{record}', 'Records read from Kafka.'),
  'spanscore.kafka.restarts': counter('{consumer}', 'Consumers that failed and were replaced.'),
  'spanscore.kafka.connected': observed(
    'level',
    '{consumer}',
    'Consumers that are members of their group: 1 or 0.',
  ),
  'spanscore.kafka.lag': observed(
    'level',
    '{record}',
    'Records of a partition that are not committed yet, as the brokers say; asked every 15 s, also while the store hangs.',
    'partition',
  ),
  'spanscore.decisions': counter('{decision}', 'Decisions written.', 'status'),
  'spanscore.scores.written': counter('{score}', 'Score rows written.', 'scorer'),
  'spanscore.scoring.delay': histogram(
    's',
    LONG_SECONDS,
    'Time from when a trace is ready, or its next attempt is due, until its score is stored, in live scoring. Kinds: code, judge, own (scorers of the user).',
    'kind',
  ),
  'spanscore.judge.calls': counter('{call}', 'Calls to judges.', 'model', 'status'),
  'spanscore.judge.tokens': counter(
    '{token}',
    'Tokens of judge calls, when the provider reports them.',
    'model',
    'type',
  ),
  'spanscore.judge.cost': counter(
    '{USD}',
    'Cost of judge calls with a known price. A call for several rules counts for the first one.',
    'model',
    'scorer',
    'rule',
  ),
  'spanscore.judge.duration': histogram('s', SECONDS, 'Time of one judge call.', 'model'),
  'spanscore.scoring.traces': observed(
    'level',
    '{trace}',
    'Traces without a final decision: waiting (still arriving), queued, waiting_for_judge (code scorers have decided), running, retrying.',
    'state',
  ),
  'spanscore.sampling.unpriced': observed(
    'total',
    '{trace}',
    'Traces for which a rule with `costly` could not know the cost, because a model has no price. They count as not costly.',
  ),
  'spanscore.scoring.traces.spilled': observed(
    'total',
    '{trace}',
    'Traces that did not fit in memory; the sweep finds them later.',
  ),
  'spanscore.judge.failing': observed(
    'level',
    '{scorer}',
    'Whether the last attempt of a scorer with its judge failed: 1 or 0.',
    'judge',
    'scorer',
  ),
  'spanscore.judge.failures': observed(
    'total',
    '{try}',
    'Attempts of a scorer that were deferred or failed, by kind of failure.',
    'judge',
    'scorer',
    'kind',
  ),
  'spanscore.budget': observed(
    'gauge',
    '{USD}',
    'Cap of a budget in this UTC day or month: spent, reserved (leased by running processes, not spent), cap. The same in each scorer process of a store; at most 10 s old.',
    'scope',
    'rule',
    'tenant',
    'period',
    'state',
  ),
  'spanscore.scoring.queue.age': observed(
    'level',
    's',
    'Time since the oldest queued trace became ready, also before this process started, or when the trace had no room in memory; 0 without one.',
  ),
  'spanscore.judge.queue': observed('level', '{run}', 'Judged scorers that run or wait for a place.'),
  'spanscore.judge.queue.wait': observed(
    'level',
    's',
    'Longest time that a prepared run has waited for a place of its judge; 0 without one.',
  ),
  'spanscore.guest.processes': observed('level', '{process}', 'Processes of own scorers.', 'scorer'),
  'spanscore.guest.queue': observed('level', '{run}', 'Runs that wait for an own scorer.', 'scorer'),
  'spanscore.guest.paused': observed(
    'level',
    '{scorer}',
    'Whether an own scorer pauses, because its runs exceed the time limit: 1 or 0.',
    'scorer',
  ),
  'spanscore.guest.faults': observed(
    'total',
    '{run}',
    'Runs of own scorers that ended without a result: timeout, out_of_memory, crash.',
    'scorer',
    'fault',
  ),
  'spanscore.export.scores': observed(
    'total',
    '{score}',
    'Scores that were delivered, or given up (dead letters).',
    'exporter',
    'outcome',
  ),
  'spanscore.export.failures': observed(
    'total',
    '{delivery}',
    'Failed deliveries that are retried.',
    'exporter',
  ),
  'spanscore.monitor.series': observed('level', '{series}', 'Series that monitors watch.', 'state'),
  'spanscore.monitor.state': observed(
    'level',
    '{series}',
    'State of a rule on a series: 1 for the current state.',
    ...SERIES,
    'state',
  ),
  'spanscore.monitor.mean': observed(
    'gauge',
    '{score}',
    'Mean of the latest bucket with scores of a series: 0 is worst, 1 best.',
    ...SERIES,
  ),
  'spanscore.monitor.baseline': observed(
    'gauge',
    '{score}',
    'Mean of a series that its earlier scores let expect.',
    ...SERIES,
  ),
  'spanscore.monitor.limit': observed('gauge', '{score}', 'Limit of a rule: a mean, or a rate.', ...SERIES),
  'spanscore.monitor.evidence': observed(
    'gauge',
    '{decade}',
    'Decimal logarithm of the evidence against "no change".',
    ...SERIES,
  ),
  'spanscore.label.agreement': observed(
    'gauge',
    '{kappa}',
    "Cohen's kappa between a version of a scorer and people, on the labelled runs of the last 30 days, of all tenants; not there while it is not defined. One scorer process measures it, at most once a minute.",
    ...VERSION,
  ),
  'spanscore.label.targets': observed(
    'gauge',
    '{target}',
    'Labelled targets from which the agreement of a version was computed: a kappa of few targets says little.',
    ...VERSION,
  ),
  'spanscore.alert.events': observed(
    'total',
    '{event}',
    'Beginnings and ends of incidents that were delivered, or given up (dead letters).',
    'channel',
    'outcome',
  ),
  'spanscore.alert.failures': observed(
    'total',
    '{attempt}',
    'Failed attempts to deliver alerts that are retried.',
    'channel',
  ),
  'spanscore.engine.up': observed(
    'level',
    '{process}',
    'Whether the process of the embedded engine runs: 1 or 0.',
  ),
  'spanscore.engine.memory.usage': observed(
    'level',
    'By',
    "Resident memory of the embedded engine's process.",
  ),
  'spanscore.disk.free': observed(
    'gauge',
    'By',
    'Bytes that spanscore may still write on the disk of the data directory. Only in the process that runs the embedded engine.',
  ),
  'spanscore.disk.limit': observed(
    'gauge',
    'By',
    'Size of the disk of the data directory. Only in the process that runs the embedded engine.',
  ),
  'process.memory.usage': observed('level', 'By', 'Resident memory of this process.'),
  'process.cpu.time': observed('total', 's', 'CPU time of this process.', 'cpu.mode'),
  'process.uptime': observed('gauge', 's', 'Time since the start of this process.'),
  'nodejs.eventloop.delay.p50': observed(
    'gauge',
    's',
    'Median delay of the event loop since the last scrape.',
  ),
  'nodejs.eventloop.delay.p99': observed(
    'gauge',
    's',
    '99th percentile of the delay of the event loop since the last scrape.',
  ),
  'nodejs.eventloop.delay.max': observed(
    'gauge',
    's',
    'Longest delay of the event loop since the last scrape.',
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

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

/** Labels of a monitored series; it has the last four when its rule splits by them. */
const SERIES =
  'alert tenant scorer fingerprint agent environment model agent_version service_version service';

/** Labels of a version of a scorer; the fingerprint has its first 8 digits. */
const VERSION = 'scorer scorer_version fingerprint';

/**
 * Every metric of this program, by its OpenTelemetry name: kind, unit, [labels], description. docs/metrics.md lists the same metrics. The
 * rules of names:
 *
 * - A name begins with `spanscore.`. Metrics of the process have the names of OpenTelemetry's semantic conventions.
 * - A name has lower-case words: the part, the thing, then a property of the thing.
 * - A unit is a base unit: `s` for time, `By` for memory and sizes. A counted thing is in braces: `{span}`.
 * - An OpenTelemetry name has neither unit nor `total`. `prometheusName` adds both.
 */
const CATALOGUE = {
  'spanscore.receiver.requests': 'counter {request} Export requests over HTTP and gRPC.',
  'spanscore.receiver.requests.refused': 'counter {request} [reason] Export requests answered with an error.',
  'spanscore.receiver.duration':
    'histogram s [transport] Time from the headers of a request to its acknowledgement, with the wait for the insert.',
  'spanscore.receiver.records.written': 'counter {record} [signal] Spans and log records with durable rows.',
  'spanscore.receiver.records.rejected':
    'counter {record} [signal] Malformed or oversized spans and log records, reported to their senders.',
  'spanscore.receiver.spans.stubbed':
    'counter {span} Spans of which only the position in the tree was stored.',
  'spanscore.receiver.records.purged':
    'counter {record} Spans and log records that were not stored, because their traces were purged.',
  'spanscore.receiver.logs.dropped':
    'counter {record} Log records that were not stored, because they are no GenAI events.',
  'spanscore.receiver.connections.dropped': 'counter {connection} Connections closed because of the limit.',
  'spanscore.receiver.held': 'level By Request and row bytes held in memory now.',
  'spanscore.receiver.oldest_request.age':
    'gauge s Age of the oldest request without a reply, or with rows that wait for the store.',
  'spanscore.api.tokens.wrong':
    'counter {request} [proof] Requests of the API with a token that is not in auth.tokens: bearer, sign-in.',
  'spanscore.insert.duration': 'histogram s [table outcome] Time of one attempt to insert a block.',
  'spanscore.insert.rows': 'histogram {row} [table] Rows of a block.',
  'spanscore.insert.size': 'histogram By [table] Bytes of a block.',
  'spanscore.insert.retries': 'counter {attempt} Retries of inserts.',
  'spanscore.insert.failures': 'counter {block} [reason] Blocks that were not stored after all attempts.',
  'spanscore.insert.pending': 'level By Row bytes that wait for their insert or are being inserted.',
  'spanscore.insert.running': 'level {block} Inserts under way.',
  'spanscore.dead_letters': 'counter {letter} [reason] New dead letters, see `spanscore dlq`.',
  'spanscore.kafka.records': 'counter {record} Records read from Kafka.',
  'spanscore.kafka.restarts': 'counter {consumer} Consumers that failed and were replaced.',
  'spanscore.kafka.connected': 'level {consumer} Consumers that are members of their group: 1 or 0.',
  'spanscore.kafka.lag':
    'level {record} [partition] Records of a partition that are not committed yet, as the brokers say; asked every 15 s, also while the store hangs.',
  'spanscore.decisions': 'counter {decision} [status] Decisions written.',
  'spanscore.scores.written': 'counter {score} [scorer] Score rows written.',
  'spanscore.scoring.delay':
    'histogram s [kind] Time from when a trace is ready, or its next attempt is due, until its score is stored, in live scoring. Kinds: code, judge, own (scorers of the user).',
  'spanscore.judge.calls': 'counter {call} [model status] Calls to judges.',
  'spanscore.judge.tokens':
    'counter {token} [model type] Tokens of judge calls, when the provider reports them.',
  'spanscore.judge.cost':
    'counter {USD} [model scorer rule] Cost of judge calls with a known price. A call for several rules counts for the first one.',
  'spanscore.judge.duration': 'histogram s [model] Time of one judge call.',
  'spanscore.scoring.traces':
    'level {trace} [state] Traces without a final decision: waiting (still arriving), queued, waiting_for_judge (code scorers have decided), running, retrying.',
  'spanscore.sampling.unpriced':
    'total {trace} Traces for which a rule with `costly` could not know the cost, because a model has no price. They count as not costly.',
  'spanscore.scoring.traces.spilled':
    'total {trace} Traces that did not fit in memory; the sweep finds them later.',
  'spanscore.judge.failing':
    'level {scorer} [judge scorer] Whether the last attempt of a scorer with its judge failed: 1 or 0.',
  'spanscore.judge.failures':
    'total {try} [judge scorer kind] Attempts of a scorer that were deferred or failed, by kind of failure.',
  'spanscore.budget':
    'gauge {USD} [scope rule tenant period state] Cap of a budget in this UTC day or month: spent, reserved (leased by running processes, not spent), cap. The same in each scorer process of a store; at most 10 s old.',
  'spanscore.scoring.queue.age':
    'level s Time since the oldest queued trace became ready, also before this process started, or when the trace had no room in memory; 0 without one.',
  'spanscore.judge.queue': 'level {run} Judged scorers that run or wait for a place.',
  'spanscore.judge.queue.wait':
    'level s Longest time that a prepared run has waited for a place of its judge; 0 without one.',
  'spanscore.guest.processes': 'level {process} [scorer] Processes of own scorers.',
  'spanscore.guest.queue': 'level {run} [scorer] Runs that wait for an own scorer.',
  'spanscore.guest.paused':
    'level {scorer} [scorer] Whether an own scorer pauses, because its runs exceed the time limit: 1 or 0.',
  'spanscore.guest.faults':
    'total {run} [scorer fault] Runs of own scorers that ended without a result: timeout, out_of_memory, crash.',
  'spanscore.export.scores':
    'total {score} [exporter outcome] Scores that were delivered, or given up (dead letters).',
  'spanscore.export.failures': 'total {delivery} [exporter] Failed deliveries that are retried.',
  'spanscore.monitor.series': 'level {series} [state] Series that monitors watch.',
  'spanscore.monitor.state': `level {series} [${SERIES} state] State of a rule on a series: 1 for the current state.`,
  'spanscore.monitor.mean': `gauge {score} [${SERIES}] Mean of the latest bucket with scores of a series: 0 is worst, 1 best.`,
  'spanscore.monitor.baseline': `gauge {score} [${SERIES}] Mean of a series that its earlier scores let expect.`,
  'spanscore.monitor.limit': `gauge {score} [${SERIES}] Limit of a rule: a mean, or a rate.`,
  'spanscore.monitor.evidence': `gauge {decade} [${SERIES}] Decimal logarithm of the evidence against "no change".`,
  'spanscore.label.agreement': `gauge {kappa} [${VERSION}] Cohen's kappa between a version of a scorer and people, on the labelled runs of the last 30 days, of all tenants; not there while it is not defined. One scorer process measures it, at most once a minute.`,
  'spanscore.label.targets': `gauge {target} [${VERSION}] Labelled targets from which the agreement of a version was computed: a kappa of few targets says little.`,
  'spanscore.alert.events':
    'total {event} [channel outcome] Beginnings and ends of incidents that were delivered, or given up (dead letters).',
  'spanscore.alert.failures': 'total {attempt} [channel] Failed attempts to deliver alerts that are retried.',
  'spanscore.engine.up': 'level {process} Whether the process of the embedded engine runs: 1 or 0.',
  'spanscore.engine.memory.usage': "level By Resident memory of the embedded engine's process.",
  'spanscore.disk.free':
    'gauge By Bytes that spanscore may still write on the disk of the data directory. Only in the process that runs the embedded engine.',
  'spanscore.disk.limit':
    'gauge By Size of the disk of the data directory. Only in the process that runs the embedded engine.',
  'process.memory.usage': 'level By Resident memory of this process.',
  'process.cpu.time': 'total s [cpu.mode] CPU time of this process.',
  'process.uptime': 'gauge s Time since the start of this process.',
  'nodejs.eventloop.delay.p50': 'gauge s Median delay of the event loop since the last scrape.',
  'nodejs.eventloop.delay.p99':
    'gauge s 99th percentile of the delay of the event loop since the last scrape.',
  'nodejs.eventloop.delay.max': 'gauge s Longest delay of the event loop since the last scrape.',
} as const;

export type MetricName = keyof typeof CATALOGUE;
export type CounterName = NamesOf<'counter'>;
export type HistogramName = NamesOf<'histogram'>;
export type ObservedName = NamesOf<'total' | 'level' | 'gauge'>;

type NamesOf<K extends MetricKind> = {
  [N in MetricName]: (typeof CATALOGUE)[N] extends `${K} ${string}` ? N : never;
}[MetricName];

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const BOUNDS: Record<HistogramName, readonly number[]> = {
  'spanscore.receiver.duration': SECONDS,
  'spanscore.insert.duration': SECONDS,
  'spanscore.insert.rows': [1, 10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000],
  'spanscore.insert.size': [1_024, 16_384, 131_072, MIB, 2 * MIB, 4 * MIB, 8 * MIB, 16 * MIB, 64 * MIB],
  // Backlogs and outages make these waits long.
  'spanscore.scoring.delay': [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3_600, 21_600],
  'spanscore.judge.duration': SECONDS,
};

/** Every metric of this program. */
export const METRICS = Object.fromEntries(
  Object.entries(CATALOGUE).map(([name, line]) => [name, readLine(name, line)]),
) as Record<MetricName, MetricSpec>;

function readLine(name: string, line: string): MetricSpec {
  const [, kind, unit = '', labels = '', description = ''] =
    /^(\w+) (\S+) (?:\[([^\]]+)\] )?(.*)$/.exec(line) ?? [];
  const spec = {
    kind: kind as MetricKind,
    unit,
    description,
    labels: labels.split(' ').filter((label) => label !== ''),
  };
  return spec.kind === 'histogram' ? { ...spec, bounds: BOUNDS[name as HistogramName] } : spec;
}

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

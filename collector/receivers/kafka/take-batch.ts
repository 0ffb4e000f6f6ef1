import { v5 as uuidv5 } from 'uuid';
import { AppError, readErrorMessage } from '../../../src/domain/errors.ts';
import type { DeadLetter, DeadLetterSink } from '../../../src/store/contracts/dead-letters.ts';
import type { ExportResult } from '../../ingest.ts';
import type { Encoding, Signal } from '../../otlp/decode-request.ts';
import type { ReceiverDependencies } from '../receiver.ts';
import { CONTENT_TYPES } from '../../otlp/reply.ts';

const MAX_PAUSE_MS = 30_000;

/** Limit of doublings of the pause. */
const MAX_DOUBLINGS = 10;

/** Record that blocks each partition, and the number of its attempts. */
class PartitionTroubles {
  readonly #troubles = new Map<string, Trouble>();

  /** Number of failed attempts of this record. */
  failures(place: string, offset: bigint): number {
    const trouble = this.#troubles.get(place);
    return trouble?.offset === offset ? trouble.failures : 0;
  }

  /** Counts a failure. Returns the pause before the next attempt; it grows with each failure of the same record. */
  pauseMs(place: string, offset: bigint, failure: AppError, firstPauseMs: number): number {
    const known = this.#troubles.get(place);
    const trouble = known?.offset === offset ? known : { offset, failures: 0 };
    const doublings = Math.min(trouble.failures, MAX_DOUBLINGS);
    trouble.failures++;
    this.#troubles.set(place, trouble);
    return Math.min(MAX_PAUSE_MS, (failure.retryAfterMs ?? firstPauseMs) * 2 ** doublings);
  }

  clear(place: string): void {
    this.#troubles.delete(place);
  }
}

/** `traces` or `logs`; the exporter of the OpenTelemetry Collector can set it. */
const SIGNAL_HEADER = 'otelcol.signal';

/** Encoding of a record, as in OTLP/HTTP. */
const CONTENT_TYPE_HEADER = 'content-type';

/** Tenant of a record, where its senders may name one. */
const TENANT_HEADER = 'spanscore.tenant';

/** Headers of records that have a meaning. */
export const KNOWN_HEADERS: ReadonlySet<string> = new Set([
  SIGNAL_HEADER,
  CONTENT_TYPE_HEADER,
  TENANT_HEADER,
]);

/** Content of the topics, and its tenant. */
export interface KafkaSource {
  readonly signals: ReadonlyMap<string, Signal>;
  readonly encoding: Encoding;
  readonly tenant: string;
  /** True when a header of a record may name its tenant. */
  readonly trustsTenants?: boolean;
}

/** Dependencies of `takeBatch`. */
export interface KafkaDependencies extends Pick<
  ReceiverDependencies,
  'take' | 'metrics' | 'limiter' | 'limits' | 'log'
> {
  readonly deadLetters: DeadLetterSink;
}

interface Context extends KafkaDependencies {
  readonly source: KafkaSource;
  readonly troubles: PartitionTroubles;
}

/** Namespace of the ids of dead letters. It must never change. */
const LETTER_NAMESPACE = 'a6a3d6c5-5b1e-5d0c-8f2b-3f0a7c2f4e19';
/**
 * Creates a handler that makes batches durable. A record that can never be stored becomes a dead letter. A record that
 * cannot be stored now blocks its partition, with a pause that doubles; no later record is counted as done.
 */
export function createBatchTaker(source: KafkaSource, deps: KafkaDependencies): OnBatch {
  const context: Context = { ...deps, source, troubles: new PartitionTroubles() };
  return (batch) =>
    takeBatch(batch, context).catch((error: unknown) => {
      deps.log.error('a Kafka batch failed unexpectedly', { error });
      return { done: 0, retryAfterMs: deps.limits.retryAfterMs };
    });
}

async function takeBatch(batch: KafkaBatch, context: Context): Promise<BatchOutcome> {
  const { records } = batch;
  const { limits, log, troubles } = context;
  const place = formatPlace(batch);
  const failures = await Promise.all(records.map((record) => takeRecord(batch, record, context)));
  const done = failures.findIndex((failure) => failure !== undefined);
  const [failure, failed] = [failures[done], records[done]];
  if (failure === undefined || failed === undefined) {
    troubles.clear(place);
    return { done: records.length };
  }
  const retryAfterMs = troubles.pauseMs(place, failed.offset, failure, limits.retryAfterMs);
  log.warn('a Kafka partition is blocked until its record can be stored', {
    place,
    offset: String(failed.offset),
    retryAfterMs,
    error: failure,
  });
  return { done, retryAfterMs };
}

/** Returns the retryable error, or undefined when the record is done. */
async function takeRecord(
  batch: KafkaBatch,
  record: KafkaRecord,
  context: Context,
): Promise<AppError | undefined> {
  context.metrics.add('spanscore.kafka.records', Number(record.lastOffset - record.offset) + 1);
  const fault = record.fault ?? (await storeRecord(batch, record, context));
  if (fault === undefined || fault instanceof AppError) {
    return fault;
  }
  const { code, reason } = typeof fault === 'string' ? { code: 'input_invalid', reason: fault } : fault;
  try {
    await setAside(batch, record, { code, reason }, context);
    return undefined;
  } catch (error) {
    return error instanceof AppError && error.retryable ? error : notWritten(error);
  }
}

/**
 * Returns undefined when the record is stored, an error when it may be stored later, else the reason why it never can be.
 */
async function storeRecord(
  batch: KafkaBatch,
  record: KafkaRecord,
  context: Context,
): Promise<AppError | { readonly code: string; readonly reason: string } | undefined> {
  try {
    const { rejected, reasons } = await store(batch, record, context);
    return rejected === 0
      ? undefined
      : { code: 'input_invalid', reason: `${rejected} rejected: ${reasons.join('; ')}` };
  } catch (error) {
    if (!(error instanceof AppError)) {
      return { code: 'bug', reason: readErrorMessage(error) };
    }
    return error.retryable ? error : { code: error.code, reason: error.message };
  }
}

async function store(batch: KafkaBatch, record: KafkaRecord, context: Context): Promise<ExportResult> {
  const { limiter, source, take } = context;
  if (record.value === null) {
    return { rejected: 0, setAside: 0, purged: 0, reasons: [] };
  }
  const lease = limiter.lease();
  try {
    lease.hold(record.value.length);
    return await take(
      {
        signal: buildSignal(source, batch.topic, record),
        encoding: buildEncoding(source, record),
        origin: { tenant: formatTenant(source, record), source: 'kafka' },
        body: record.value,
      },
      lease,
    );
  } finally {
    lease.release();
  }
}

async function setAside(
  batch: KafkaBatch,
  record: KafkaRecord,
  { code, reason }: { readonly code: string; readonly reason: string },
  { metrics, deadLetters, log, source, troubles }: Context,
): Promise<void> {
  const { topic, partition } = batch;
  const letter: DeadLetter = {
    id: uuidv5(`kafka/${topic}/${partition}/${record.offset}`, LETTER_NAMESPACE),
    source: 'kafka',
    topic,
    partition,
    firstOffset: record.offset,
    lastOffset: record.lastOffset,
    tenant: formatTenant(source, record),
    signal: buildSignal(source, topic, record),
    encoding: record.fault === undefined ? buildEncoding(source, record) : 'batch',
    body: record.value ?? new Uint8Array(),
    code,
    reason,
    attempts: troubles.failures(formatPlace(batch), record.offset) + 1,
  };
  await deadLetters.write([letter]);
  metrics.add('spanscore.dead_letters', 1, { reason: code });
  log.warn(
    'a Kafka record could not be read or stored; it is a dead letter now, to list them: spanscore dlq list',
    {
      place: formatPlace(batch),
      offset: String(record.offset),
      lastOffset: String(record.lastOffset),
      code,
      reason,
    },
  );
}

function formatPlace({ topic, partition }: KafkaBatch): string {
  return `${topic}/${partition}`;
}

function buildSignal(source: KafkaSource, topic: string, { headers }: KafkaRecord): Signal {
  const said = headers[SIGNAL_HEADER];
  return said === 'traces' || said === 'logs' ? said : (source.signals.get(topic) ?? 'traces');
}

/** Returns the encoding that a record states in a header, as records of forwarders do; else the configured one. */
function buildEncoding(source: KafkaSource, { headers }: KafkaRecord): Encoding {
  const said = headers[CONTENT_TYPE_HEADER];
  const [encoding] = Object.entries(CONTENT_TYPES).find(([, type]) => type === said) ?? [];
  return encoding === 'json' || encoding === 'protobuf' ? encoding : source.encoding;
}

function formatTenant(source: KafkaSource, { headers }: KafkaRecord): string {
  return source.trustsTenants === true ? (headers[TENANT_HEADER] ?? source.tenant) : source.tenant;
}

/** Creates the error of a failed dead letter. The record waits until it can be set aside. */
function notWritten(error: unknown): AppError {
  return new AppError(`a dead letter could not be written: ${readErrorMessage(error)}`, {
    code: 'bug',
    stage: 'store',
    retryable: true,
    cause: error,
  });
}

interface Trouble {
  readonly offset: bigint;
  failures: number;
}

/** Record as in its topic, or a range of records that could not be read from their batch. */
export interface KafkaRecord {
  readonly offset: bigint;
  /** Above `offset` only when `fault` is set for a whole batch of records. */
  readonly lastOffset: bigint;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Reason why the batch has no records; `value` has its bytes, as in the topic. */
  readonly fault?: string;
}

/** Records of one partition in order of their offsets. They are stored together: together they fit one insert. */
export interface KafkaBatch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly KafkaRecord[];
}

/** Number of records of a batch that were stored. */
export interface BatchOutcome {
  /** Number of records from the start of the batch that are durable (or set aside): their offset is committed. */
  readonly done: number;
  /** The other records are read again after this pause. */
  readonly retryAfterMs?: number;
}

/** Handles a batch. Must not reject. Resolves only once the records that it counts as done are durable. */
export type OnBatch = (batch: KafkaBatch) => Promise<BatchOutcome>;

/** Active member of a consumer group. */
export interface KafkaConsumer {
  /** Resolves with the reason when the consumer cannot continue; never after `stop`. */
  readonly ended: Promise<Error>;
  /** Time of the last heartbeat of the group, Unix milliseconds. */
  lastHeartbeatMs(): number;
  /** Asks the brokers for the number of records that are not committed yet, by `topic/partition` of this member. */
  readLags(): Promise<ReadonlyMap<string, number>>;
  /** Finishes the batches under way, commits them, and leaves the group. */
  stop(): Promise<void>;
}

/** Interface to a Kafka client. It handles one batch of a partition at a time. */
export interface KafkaClient {
  /** Joins the group. Rejects when no broker is reachable or accepts the login. */
  consume(onBatch: OnBatch): Promise<KafkaConsumer>;
}

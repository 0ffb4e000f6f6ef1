import type { Log } from '../../../src/telemetry/log.ts';
import type { KafkaClient, KafkaConsumer, KafkaRecord, OnBatch } from './take-batch.ts';
import {
  type Consumer,
  createKafka,
  type EachBatchPayload,
  type IHeaders,
  installCodecs,
  type Kafka,
  type KafkaConnectionOptions,
  type KafkaMessage,
  type Admin,
} from './kafkajs.ts';
import { readPoison } from './poison-records.ts';
import { SECOND_MS } from '../../../src/domain/durations.ts';
import { MIB } from '../../../src/domain/byte-sizes.ts';
import type { ConnectionOptions } from 'node:tls';
import { durationMs } from '../../../src/config/index.ts';
import { readTlsFiles } from '../../../src/config/tls-files.ts';
import type { Signal } from '../../otlp/decode-request.ts';
import type { KafkaReceiverOptions } from './kafka-receiver.ts';
import type { KafkaSection } from './kafka-definition.ts';

export interface KafkaOptions extends KafkaConnectionOptions {
  readonly groupId: string;
  readonly topics: readonly string[];
  /** Silence after which other members get the partitions of this member, milliseconds. */
  readonly sessionTimeoutMs?: number;
  /** Time in milliseconds that other members wait for a member that still inserts: longer than the slowest insert. */
  readonly rebalanceTimeoutMs?: number;
  /** Largest batch after decompression; a larger one is set aside. */
  readonly maxBatchBytes?: number;
}

const DEFAULT_MAX_BATCH_BYTES = 32 * MIB;
const HEARTBEAT_MS = 1_000;
const FETCH_WAIT_MS = 500;
/** Soft limits: a batch of records always comes whole. */
const MAX_FETCH_BYTES = 32 * MIB;
const MAX_PARTITION_BYTES = 8 * MIB;
const PARTITIONS_AT_ONCE = 6;

/** Creates a Kafka client with kafkajs. Offsets are committed by the outcome of the handler only. */
export function createKafkaJsClient(options: KafkaOptions): KafkaClient {
  installCodecs(options.maxBatchBytes ?? DEFAULT_MAX_BATCH_BYTES);
  const kafka = createKafka(options);
  return { consume: (onBatch) => consume(kafka, options, onBatch) };
}

async function consume(kafka: Kafka, options: KafkaOptions, onBatch: OnBatch): Promise<KafkaConsumer> {
  const consumer = kafka.consumer({
    groupId: options.groupId,
    sessionTimeout: options.sessionTimeoutMs ?? 30_000,
    rebalanceTimeout: options.rebalanceTimeoutMs ?? 60_000,
    heartbeatInterval: HEARTBEAT_MS,
    maxWaitTimeInMs: FETCH_WAIT_MS,
    maxBytesPerPartition: MAX_PARTITION_BYTES,
    maxBytes: MAX_FETCH_BYTES,
    allowAutoTopicCreation: false,
  });
  const pauses = new Set<NodeJS.Timeout>();
  const ended = Promise.withResolvers<Error>();
  const lags = createLagReader(kafka, options.groupId);
  const bounds = new Map<number, SliceBounds>();
  let assignment: Assignment = {};
  let heartbeatMs = Date.now();
  consumer.on('consumer.group_join', ({ payload }) => {
    assignment = payload.memberAssignment;
  });
  consumer.on('consumer.heartbeat', () => {
    heartbeatMs = Date.now();
  });
  consumer.on('consumer.crash', ({ payload }) => {
    options.log.warn('the Kafka consumer failed', { error: payload.error, startsAgain: payload.restart });
    if (!payload.restart) {
      ended.resolve(payload.error);
    }
  });
  try {
    await consumer.connect();
    // A group without a committed offset begins at the first record: starting at the end would skip unread records.
    await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
      eachBatch: (payload) => handleBatch(payload, { onBatch, pauses, bounds }),
    });
  } catch (error) {
    await leave(consumer, options.log);
    throw error;
  }
  return {
    ended: ended.promise,
    lastHeartbeatMs: () => heartbeatMs,
    readLags: () => lags.read(assignment),
    stop: async () => {
      pauses.forEach(clearTimeout);
      await Promise.all([leave(consumer, options.log), lags.stop()]);
    },
  };
}

/** Leaves the group. A failure is harmless: the group notices a missing member by itself. */
async function leave(consumer: Consumer, log: Log): Promise<void> {
  try {
    await consumer.disconnect();
  } catch (error) {
    log.debug('the Kafka consumer could not take leave', { error });
  }
}

/** Most records and bytes of a slice at first, and how many times as large it may become. */
const SLICE = { records: 512, bytes: 2 * MIB };
const MOST_GROWTH = { records: 16, bytes: 4 };

/**
 * Bounds of the slices of a partition. They grow while full slices are durable well within a second, because a row costs the store less in a
 * large insert, and shrink while slices take longer. What a kill finds unfinished, at most a slice of each partition, is read and stored
 * again: so at most what is stored in about a second.
 */
export class SliceBounds {
  #growth = 1;

  /** Returns the end of the slice that begins at an index. One large record is a slice of its own. */
  findEnd(records: readonly Pick<KafkaRecord, 'value'>[], from: number): number {
    const bytes = SLICE.bytes * Math.min(this.#growth, MOST_GROWTH.bytes);
    const last = Math.min(records.length, from + SLICE.records * this.#growth);
    let size = 0;
    for (let end = from; end < last; end += 1) {
      size += records[end]?.value?.length ?? 0;
      if (size > bytes) {
        return Math.max(end, from + 1);
      }
    }
    return last;
  }

  /**
   * Learns from a slice that was stored.
   * @param isFull true when there was more than the slice
   */
  note(tookMs: number, isFull: boolean): void {
    if (tookMs > SECOND_MS) {
      this.#growth = Math.max(1, this.#growth / 2);
    } else if (isFull && tookMs < SECOND_MS / 2) {
      this.#growth = Math.min(MOST_GROWTH.records, this.#growth * 2);
    }
  }
}

interface BatchParts {
  readonly onBatch: OnBatch;
  readonly pauses: Set<NodeJS.Timeout>;
  /** By the number of the partition, for all topics. */
  readonly bounds: Map<number, SliceBounds>;
}

/**
 * Handles a batch in slices, and commits the offset of each as soon as its records are durable. The client fetches a partition again
 * only after its handler has ended, and the group rebalances only after all handlers have ended. So the offsets committed here are
 * contiguous, and the partition still belongs to this member. Unfinished records are fetched again.
 */
async function handleBatch(
  payload: EachBatchPayload,
  { onBatch, pauses, bounds: known }: BatchParts,
): Promise<void> {
  const { topic, partition } = payload.batch;
  const bounds = known.get(partition) ?? new SliceBounds();
  known.set(partition, bounds);
  // A failed heartbeat does not stop the work: the work is finished and committed, then the member joins the group again.
  const beat = setInterval(() => void payload.heartbeat().catch(() => undefined), HEARTBEAT_MS);
  try {
    const all = listRecords(payload.batch.messages);
    for (let from = 0, end = 0; from < all.length; from = end) {
      if (!payload.isRunning() || payload.isStale()) {
        return;
      }
      end = bounds.findEnd(all, from);
      const records = all.slice(from, end);
      const startedMs = performance.now();
      const { done, retryAfterMs } = await onBatch({ topic, partition, records });
      bounds.note(performance.now() - startedMs, end < all.length);
      const isWhole = done >= records.length && end === all.length;
      // Behind the last record, a topic may have offsets without a record.
      await commit(payload, isWhole ? BigInt(payload.batch.lastOffset()) : records[done - 1]?.lastOffset);
      if (retryAfterMs !== undefined) {
        pause(payload, retryAfterMs, pauses);
        break;
      }
    }
  } finally {
    clearInterval(beat);
  }
  await payload.heartbeat();
}

function pause(payload: EachBatchPayload, retryAfterMs: number, pauses: Set<NodeJS.Timeout>): void {
  const resume = payload.pause();
  const timer = setTimeout(() => {
    pauses.delete(timer);
    resume();
  }, retryAfterMs);
  pauses.add(timer);
}

async function commit(payload: EachBatchPayload, last: bigint | undefined): Promise<void> {
  if (last === undefined) {
    return;
  }
  const { topic, partition } = payload.batch;
  await payload.commitOffsetsIfNecessary({
    topics: [{ topic, partitions: [{ partition, offset: String(last + 1n) }] }],
  });
  payload.resolveOffset(String(last));
}

/** Merges the stand-ins of one unreadable batch into one record. */
function listRecords(messages: readonly KafkaMessage[]): KafkaRecord[] {
  const records: KafkaRecord[] = [];
  let stretch: { readonly mark: Buffer; readonly at: number } | undefined;
  for (const { offset, value, headers } of messages) {
    const lastOffset = BigInt(offset);
    const poison = readPoison(value);
    if (poison === undefined || value === null) {
      stretch = undefined;
      records.push({ offset: lastOffset, lastOffset, value, headers: textHeaders(headers ?? {}) });
      continue;
    }
    const known = stretch?.mark.equals(value) === true ? records[stretch.at] : undefined;
    if (known !== undefined && stretch !== undefined) {
      records[stretch.at] = { ...known, lastOffset };
      continue;
    }
    stretch = { mark: value, at: records.length };
    records.push({ offset: lastOffset, lastOffset, value: poison.bytes, headers: {}, fault: poison.reason });
  }
  return records;
}

/** Returns the headers as text. None has two values: `createKafka` reads the first one only. */
function textHeaders(headers: IHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, String(value)]));
}

/** Partitions of a member, by topic. */
type Assignment = Readonly<Record<string, readonly number[]>>;

/** Reader of the number of records that a group has not committed yet. It has connections of its own. */
interface LagReader {
  /** Returns the lag of each partition of the assignment, by `topic/partition`. Rejects while the brokers do not answer. */
  read(assignment: Assignment): Promise<Map<string, number>>;
  /** Closes the connections. */
  stop(): Promise<void>;
}

/** Creates the reader. It connects at its first use. */
function createLagReader(kafka: Kafka, groupId: string): LagReader {
  let connected: Promise<Admin> | undefined;

  async function connect(): Promise<Admin> {
    const admin = kafka.admin();
    await admin.connect();
    return admin;
  }

  return {
    async read(assignment) {
      connected ??= connect();
      const admin = await connected.catch((error: unknown) => {
        connected = undefined;
        throw error;
      });
      const topics = Object.keys(assignment);
      // Committed offsets first: what is committed meanwhile must not make a lag negative.
      const committed = await admin.fetchOffsets({ groupId, topics });
      const lags = await Promise.all(
        topics.map(async (topic) => {
          const ends = await admin.fetchTopicOffsets(topic);
          const offsets = committed.find((each) => each.topic === topic)?.partitions ?? [];
          return (assignment[topic] ?? []).flatMap((partition) => {
            const end = ends.find((each) => each.partition === partition);
            const offset = offsets.find((each) => each.partition === partition)?.offset;
            return end === undefined ? [] : [[`${topic}/${partition}`, computeLag(end, offset)] as const];
          });
        }),
      );
      return new Map(lags.flat());
    },
    async stop() {
      // A failure is harmless: the brokers close the connections of a client that is gone.
      await connected?.then((admin) => admin.disconnect()).catch(() => undefined);
    },
  };
}

/** Without a committed offset (-1), or with one whose record has expired, the group reads on at the first record. */
function computeLag(end: { readonly high: string; readonly low: string }, committed = '-1'): number {
  const next = Math.max(Number(committed), Number(end.low));
  return Math.max(0, Number(end.high) - next);
}

/**
 * Creates the options of the Kafka receiver from a configuration. Throws a `ConfigError` for a file that cannot be read.
 */
export function configuredKafka(config: KafkaSection, log: Log): KafkaReceiverOptions {
  const signals = new Map<string, Signal>([
    ...config.topics.map((topic) => [topic, 'traces'] as const),
    ...config.logTopics.map((topic) => [topic, 'logs'] as const),
  ]);
  const { tls, sasl } = config;
  return {
    client: createKafkaJsClient({
      brokers: config.brokers,
      groupId: config.groupId,
      sessionTimeoutMs: durationMs(config.sessionTimeout),
      topics: [...signals.keys()],
      ...(tls === undefined ? {} : { tls: kafkaTls(tls, 'receivers.kafka.tls') }),
      ...(sasl === undefined ? {} : { sasl }),
      log,
    }),
    source: {
      signals,
      encoding: config.encoding === 'otlp_json' ? 'json' : 'protobuf',
      tenant: config.tenant,
      trustsTenants: config.tenantFromRecords,
    },
  };
}

/**
 * Returns the TLS options of the client; `at` is the key, for errors. Throws a `ConfigError` for a file that cannot be
 * read.
 */
function kafkaTls(tls: NonNullable<KafkaSection['tls']>, at: string): ConnectionOptions {
  const name = tls.serverName === undefined ? {} : { servername: tls.serverName };
  return { ...readTlsFiles(tls, at), ...name };
}

import { randomUUID } from 'node:crypto';
import type { DeadLetterSink } from '../src/store/contracts/dead-letters.ts';
import type { SpanSink } from '../src/store/contracts/span-sink.ts';
import type { Log } from '../src/telemetry/log.ts';
import { answerWithin } from './answer-within.ts';
import { Batcher } from './batcher.ts';
import { BlockInserter } from './block-inserter.ts';
import { type CollectorCount, type CountListener, createCounter } from './counts.ts';
import { type CollectorLimits, DEFAULT_COLLECTOR_LIMITS } from './limits.ts';
import { createInsertHealth } from './insert-health.ts';
import { ingest, type TakeRequest } from './ingest.ts';
import { createMemoryLimiter } from './memory-limiter.ts';
import type { Keep } from './otlp/row-limits.ts';
import {
  type KafkaReceiverOptions,
  type KafkaStatus,
  startKafkaReceiver,
} from './receivers/kafka/kafka-receiver.ts';
import { startOtlpGrpc } from './receivers/otlp-grpc.ts';
import { startOtlpHttp } from './receivers/otlp-http.ts';
import type { Authenticate, ListenOptions, OtlpReceiver } from './receivers/receiver.ts';

export interface CollectorOptions {
  readonly sink: SpanSink;
  /** Sink of rows and records that can never be stored. */
  readonly deadLetters: DeadLetterSink;
  readonly http: ListenOptions;
  /** Undefined: no OTLP/gRPC. */
  readonly grpc?: ListenOptions;
  /** Undefined: no Kafka. */
  readonly kafka?: KafkaReceiverOptions;
  readonly limits?: Partial<CollectorLimits>;
  /** Default: all. */
  readonly keep?: Keep;
  /** Default: every sender may send, with the tenant ''. */
  readonly authenticate?: Authenticate;
  readonly log: Log;
  readonly listener?: CountListener;
}

/** Counts and state of a collector. */
export interface CollectorStats {
  readonly counts: Record<CollectorCount, number>;
  readonly heldBytes: number;
  readonly pendingRowBytes: number;
  readonly insertsRunning: number;
  /** Age in milliseconds of the oldest request without a reply, or with rows that wait for the store. */
  readonly oldestRequestMs: number;
  /** Names of receivers that no longer listen. */
  readonly notListening: readonly string[];
  readonly kafka: KafkaStatus | undefined;
}

export interface Collector {
  /** Address of OTLP/HTTP. */
  readonly address: { readonly host: string; readonly port: number };
  /** Address of OTLP/gRPC; undefined without that receiver. */
  readonly grpcAddress: { readonly host: string; readonly port: number } | undefined;
  /** Accepts no new requests, finishes those under way, then resolves. A second call waits for the first. */
  stop(): Promise<void>;
  stats(): CollectorStats;
  /** Resolves while the store takes inserts; rejects with the reason while it refuses them. */
  checkInserts(): Promise<void>;
}

/** Starts receivers that answer a sender only after its rows are durable. */
export async function startCollector(options: CollectorOptions): Promise<Collector> {
  const { sink, deadLetters, log, listener, keep = 'all', authenticate = () => ({ tenant: '' }) } = options;
  const limits = { ...DEFAULT_COLLECTOR_LIMITS, ...options.limits };
  const counter = createCounter(listener);
  const limiter = createMemoryLimiter(limits.maxInFlightBytes, limits.retryAfterMs);
  const health = createInsertHealth(sink);
  const inserter = new BlockInserter({
    sink,
    deadLetters,
    limits,
    log,
    counter,
    health,
    newToken: randomUUID,
  });
  const batcher = new Batcher({ inserter, limits, nowMs: () => performance.now() });
  const decode = { limits, keep };
  const take: TakeRequest = (request, lease) => ingest(request, lease, { batcher, limiter, counter, decode });
  const shared = { take, limiter, counter, limits, authenticate, log };
  const answering = { ...shared, take: answerWithin(take, limits) };
  const http = await startOtlpHttp(options.http, answering);
  const grpc =
    options.grpc === undefined
      ? undefined
      : await orStopStarted(startOtlpGrpc(options.grpc, answering), http);

  const kafka =
    options.kafka === undefined ? undefined : startKafkaReceiver(options.kafka, { ...shared, deadLetters });

  async function stop(): Promise<void> {
    await Promise.all([http.stop(), grpc?.stop(), kafka?.stop()]);
    await batcher.drain();
  }

  let stopped: Promise<void> | undefined;
  return {
    address: http.address,
    grpcAddress: grpc?.address,
    stop: () => (stopped ??= stop()),
    checkInserts: () => health.check(),
    stats: () => ({
      counts: counter.totals(),
      heldBytes: limiter.heldBytes,
      pendingRowBytes: batcher.pendingBytes,
      insertsRunning: batcher.insertsRunning,
      oldestRequestMs: limiter.oldestMs(),
      notListening: [
        ...(http.isListening() ? [] : ['otlp-http']),
        ...(grpc === undefined || grpc.isListening() ? [] : ['otlp-grpc']),
      ],
      kafka: kafka?.status(),
    }),
  };
}

/** Stops the started receivers when the next receiver cannot start. */
async function orStopStarted(starting: Promise<OtlpReceiver>, started: OtlpReceiver): Promise<OtlpReceiver> {
  try {
    return await starting;
  } catch (error) {
    await started.stop();
    throw error;
  }
}

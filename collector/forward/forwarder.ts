import type { ReadinessCheck } from '../../src/domain/readiness-check.ts';
import { AppError } from '../../src/domain/errors.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { type CountListener, createCounter } from '../counts.ts';
import { createDropMetrics } from '../drop-metrics.ts';
import { type CollectorLimits, DEFAULT_COLLECTOR_LIMITS } from '../limits.ts';
import { createMemoryLimiter } from '../memory-limiter.ts';
import { describeKafkaFault } from '../receivers/kafka/kafka-fault.ts';
import { startOtlpGrpc } from '../receivers/otlp-grpc.ts';
import { startOtlpHttp } from '../receivers/otlp-http.ts';
import type { Authenticate, ListenOptions } from '../receivers/receiver.ts';
import { type ForwardDependencies, forwardRequests } from './forward-request.ts';

export interface ForwarderOptions extends Pick<
  ForwardDependencies,
  'producer' | 'topics' | 'maxRecordBytes'
> {
  readonly http: ListenOptions;
  readonly grpc: ListenOptions;
  readonly limits?: Partial<CollectorLimits>;
  readonly authenticate: Authenticate;
  readonly listener?: CountListener;
  readonly log: Log;
}

/** Collector without a store: an acknowledged request is in Kafka. */
export interface Forwarder {
  readonly address: { readonly host: string; readonly port: number };
  readonly grpcAddress: { readonly host: string; readonly port: number };
  readonly checks: readonly ReadinessCheck[];
  heldBytes(): number;
  oldestRequestMs(): number;
  /** Accepts no new requests, finishes those under way, then disconnects from the broker. */
  stop(): Promise<void>;
}

/** Starts the receivers of a forwarder, also while no broker is reachable: until it is, senders get retryable errors. */
export async function startForwarder(options: ForwarderOptions): Promise<Forwarder> {
  const { producer, topics, maxRecordBytes, log, authenticate } = options;
  const limits = { ...DEFAULT_COLLECTOR_LIMITS, ...options.limits };
  const counter = createCounter(options.listener);
  const limiter = createMemoryLimiter(limits.maxInFlightBytes, limits.retryAfterMs);
  const take = forwardRequests({ producer, topics, maxRecordBytes, limiter, limits, counter, log });
  const dropMetrics = createDropMetrics(limits, log);
  const shared = { take, dropMetrics, limiter, counter, limits, authenticate, log };
  const http = await startOtlpHttp(options.http, shared);
  const grpc = await startOtlpGrpc(options.grpc, shared).catch(async (error: unknown) => {
    await http.stop();
    throw error;
  });
  return {
    address: http.address,
    grpcAddress: grpc.address,
    checks: [
      {
        name: 'receivers',
        check: async () => {
          if (!http.isListening() || !grpc.isListening()) {
            throw new AppError('not listening', { code: 'overloaded', stage: 'receive', retryable: true });
          }
        },
      },
      { name: 'forward', check: () => checkKafka(producer, Object.values(topics)) },
    ],
    heldBytes: () => limiter.heldBytes,
    oldestRequestMs: () => limiter.oldestMs(),
    async stop() {
      await Promise.all([http.stop(), grpc.stop()]);
      await producer.stop();
    },
  };
}

async function checkKafka(producer: ForwarderOptions['producer'], topics: readonly string[]): Promise<void> {
  try {
    await producer.check(topics);
  } catch (error) {
    const { said, likely } = describeKafkaFault(error, 'forward.kafka');
    throw new AppError(likely === undefined ? said : `${said}; ${likely}`, {
      code: 'delivery_failed',
      stage: 'receive',
      retryable: true,
      cause: error,
    });
  }
}

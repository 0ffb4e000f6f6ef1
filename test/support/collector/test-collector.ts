import { type Collector, type CollectorOptions, startCollector } from '../../../collector/collector.ts';
import {
  describeReader,
  type KafkaReceiver,
  type KafkaReceiverOptions,
  startKafkaReceiver,
} from '../../../collector/receivers/kafka/kafka-receiver.ts';
import { startOtlpGrpc } from '../../../collector/receivers/otlp-grpc.ts';
import { startOtlpHttp } from '../../../collector/receivers/otlp-http.ts';
import type { ListenAddress, ListenOptions, StartReceiver } from '../../../collector/receivers/receiver.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { countedMetrics, type CountedMetrics } from './counted-metrics.ts';
import { recordingLetters, type RecordingLetters } from '../fakes/recording-letters.ts';
import { recordingSink, type RecordingSink } from '../fakes/recording-sink.ts';

/** Collector with its addresses. */
export interface TestCollector extends Collector {
  /** Address of OTLP/HTTP. */
  readonly address: ListenAddress;
  /** Address of OTLP/gRPC; undefined without that receiver. */
  readonly grpcAddress: ListenAddress | undefined;
  /** Reader of Kafka; undefined without that receiver. */
  readonly kafka: KafkaReceiver | undefined;
  /** Reads what a metric has counted. */
  readonly count: CountedMetrics['count'];
}

interface TestReceivers {
  readonly http?: ListenOptions;
  readonly grpc?: ListenOptions;
  readonly kafka?: KafkaReceiverOptions;
}

/** Starts a collector. OTLP/HTTP uses a free port by default. The other receivers start only when they are given. */
export async function startTestCollector({
  http = { host: '127.0.0.1', port: 0 },
  grpc,
  kafka,
  ...options
}: Omit<CollectorOptions, 'receivers' | 'metrics'> & TestReceivers): Promise<TestCollector> {
  let reader: KafkaReceiver | undefined;
  const receivers = new Map<string, StartReceiver>([['otlp-http', (deps) => startOtlpHttp(http, deps)]]);
  if (grpc !== undefined) {
    receivers.set('otlp-grpc', (deps) => startOtlpGrpc(grpc, deps));
  }
  if (kafka !== undefined) {
    receivers.set('kafka', async (deps) => {
      reader = startKafkaReceiver(kafka, { ...deps, take: deps.takeUntilStored });
      return describeReader(reader);
    });
  }
  const metrics = countedMetrics();
  const collector = await startCollector({ ...options, metrics, receivers });
  const address = collector.addresses.get('otlp-http');
  if (address === undefined) {
    throw new Error('OTLP/HTTP has no address');
  }
  const grpcAddress = collector.addresses.get('otlp-grpc');
  return { ...collector, address, grpcAddress, kafka: reader, count: metrics.count };
}

/** Starts a collector on a free port with a sink in memory. Its batches are short, so that tests do not wait. */
export async function testCollector(
  options: Partial<Parameters<typeof startTestCollector>[0]> = {},
): Promise<{ collector: TestCollector; sink: RecordingSink; letters: RecordingLetters }> {
  const sink = recordingSink();
  const letters = recordingLetters();
  const collector = await startTestCollector({
    sink,
    deadLetters: letters,
    log: silentLog,
    ...options,
    limits: { batchAgeMs: 5, ...options.limits },
  });
  return { collector, sink, letters };
}

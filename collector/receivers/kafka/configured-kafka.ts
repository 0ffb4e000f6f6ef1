import type { ConnectionOptions } from 'node:tls';
import { durationMs } from '../../../src/config/index.ts';
import { readTlsFiles } from '../../../src/config/tls-files.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import type { Signal } from '../../otlp/decode-request.ts';
import type { KafkaReceiverOptions } from './kafka-receiver.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { createKafkaJsClient } from './kafkajs-client.ts';

/**
 * Creates the options of the Kafka receiver from a configuration. Throws a `ConfigError` for a file that cannot be read.
 */
export function configuredKafka(config: KafkaOptions, log: Log): KafkaReceiverOptions {
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
function kafkaTls(tls: NonNullable<KafkaOptions['tls']>, at: string): ConnectionOptions {
  const name = tls.serverName === undefined ? {} : { servername: tls.serverName };
  return { ...readTlsFiles(tls, at), ...name };
}

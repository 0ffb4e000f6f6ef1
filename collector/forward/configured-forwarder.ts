import type { Config } from '../../src/config/index.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { ingestOptions } from '../configured-ingest.ts';
import type { CountListener } from '../counts.ts';
import { bearerTokens } from '../receivers/bearer-tokens.ts';
import { kafkaTls } from '../receivers/kafka/configured-kafka.ts';
import { listenOptions } from '../receivers/listen-options.ts';
import { createKafkaJsProducer } from './kafkajs-producer.ts';
import type { ForwarderOptions } from './forwarder.ts';

/** Receivers whose requests are forwarded. */
interface ForwardedReceivers {
  readonly receivers: { readonly otlp: Record<'http' | 'grpc', Parameters<typeof listenOptions>[0]> };
}

/** Creates the forwarder of a configuration. Throws a `ConfigError` for a file that cannot be read. */
export function configuredForwarder(
  config: Pick<Config, 'ingest' | 'auth'> & ForwardedReceivers,
  { kafka }: NonNullable<Config['forward']>,
  { log, listener }: { readonly log: Log; readonly listener: CountListener },
): ForwarderOptions {
  const { brokers, tls, sasl, topic, logTopic, maxRecordBytes } = kafka;
  const { http, grpc } = config.receivers.otlp;
  return {
    http: listenOptions(http, 'receivers.otlp.http'),
    grpc: listenOptions(grpc, 'receivers.otlp.grpc'),
    limits: ingestOptions(config).limits,
    authenticate: bearerTokens(config.auth.tokens),
    producer: createKafkaJsProducer({
      brokers,
      ...(tls === undefined ? {} : { tls: kafkaTls(tls, 'forward.kafka.tls') }),
      ...(sasl === undefined ? {} : { sasl }),
      log,
    }),
    topics: { traces: topic, logs: logTopic },
    maxRecordBytes,
    listener,
    log,
  };
}

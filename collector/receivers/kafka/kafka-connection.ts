import type { ConnectionOptions } from 'node:tls';
import { Kafka, logLevel, type RetryOptions, type SASLOptions } from 'kafkajs';
import type { Log } from '../../../src/telemetry/log.ts';
import { pauseIdleQueues } from './idle-queues.ts';

/** Options of a connection to brokers. */
export interface KafkaConnectionOptions {
  readonly brokers: readonly string[];
  readonly sasl?: SASLOptions;
  readonly tls?: ConnectionOptions;
  readonly log: Log;
}

/** Creates kafkajs for these brokers; `more` has options of kafkajs. Does not connect. */
export function kafkaConnection(
  { brokers, sasl, tls, log }: KafkaConnectionOptions,
  more: {
    readonly retry?: RetryOptions;
    readonly connectionTimeout?: number;
    readonly requestTimeout?: number;
  } = {},
): Kafka {
  pauseIdleQueues();
  return new Kafka({
    clientId: 'spanscore',
    brokers: [...brokers],
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(sasl === undefined ? {} : { sasl }),
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => tell(log, entry.level, entry.log.message, entry.log),
    retry: { retries: 5, initialRetryTime: 300 },
    ...more,
  });
}

/** Logs messages of the client at debug level; the caller logs their meaning for the operator. */
function tell(log: Log, level: logLevel, message: string, extra: object): void {
  const { stack: _, timestamp: __, ...fields } = extra as Record<string, unknown>;
  log.debug('kafkajs', { ...fields, level, said: message });
}

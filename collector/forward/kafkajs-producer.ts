import { createKafka, createProducer, type KafkaConnectionOptions } from '../receivers/kafka/kafkajs.ts';
import type { KafkaProducer } from './kafka-producer.ts';

/** Wait for all in-sync replicas. */
const ACKS_ALL = -1;
/** Time in milliseconds that the broker may wait for its replicas. */
const REPLICAS_TIMEOUT_MS = 5_000;
const CONNECTION_TIMEOUT_MS = 2_000;
const REQUEST_TIMEOUT_MS = 6_000;
/** Retries within one send; after that the sender retries. */
const RETRY = { retries: 3, initialRetryTime: 200, maxRetryTime: 1_000 };

/** Creates the producer of forwarded records on kafkajs. */
export function createKafkaJsProducer(options: KafkaConnectionOptions): KafkaProducer {
  const kafka = createKafka(options, {
    retry: RETRY,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
  });
  const producer = createProducer(kafka);
  const admin = kafka.admin();
  const connectProducer = connectOnce(() => producer.connect());
  const connectAdmin = connectOnce(() => admin.connect());
  return {
    async send(topic, records) {
      await connectProducer();
      const messages = records.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } }));
      await producer.send({ topic, messages, acks: ACKS_ALL, timeout: REPLICAS_TIMEOUT_MS });
    },
    async check(topics) {
      await connectAdmin();
      await admin.fetchTopicMetadata({ topics: [...topics] });
    },
    async stop() {
      await Promise.all([producer.disconnect(), admin.disconnect()]);
    },
  };
}

/** Makes a connection that succeeds once; after a failure the next call tries again. */
function connectOnce(connect: () => Promise<void>): () => Promise<void> {
  let connecting: Promise<void> | undefined;
  return async () => {
    const mine = (connecting ??= connect());
    try {
      await mine;
    } catch (error) {
      connecting = connecting === mine ? undefined : connecting;
      throw error;
    }
  };
}

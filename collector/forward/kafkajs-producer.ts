import { Partitioners } from 'kafkajs';
import { type KafkaConnectionOptions, kafkaConnection } from '../receivers/kafka/kafka-connection.ts';
import type { KafkaProducer } from './kafka-producer.ts';

/** All replicas in sync. */
const ACKS_ALL = -1;
/** Time that the broker may wait for its replicas, milliseconds. */
const REPLICAS_TIMEOUT_MS = 5_000;
const CONNECTION_TIMEOUT_MS = 2_000;
const REQUEST_TIMEOUT_MS = 6_000;
/** Within one send; its sender tries again after that. */
const RETRY = { retries: 3, initialRetryTime: 200, maxRetryTime: 1_000 };

/**
 * Writes to Kafka by way of kafkajs: keys to partitions as Java's clients do (murmur2). Not as an idempotent producer: kafkajs
 * takes sequence numbers back when it gives a send up, and gives them to the next records, which a broker that did take the
 * first ones then drops as repeated ones while it acknowledges them. Repeated spans, in contrast, are one when they are read.
 */
export function createKafkaJsProducer(options: KafkaConnectionOptions): KafkaProducer {
  const kafka = kafkaConnection(options, {
    retry: RETRY,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
  });
  const producer = kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    allowAutoTopicCreation: false,
    idempotent: false,
  });
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

/** Makes a connection that succeeds once; one that fails is tried again with the next call. */
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

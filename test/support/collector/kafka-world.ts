import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin, Kafka, logLevel, type Message, type Producer } from 'kafkajs';
import { createKafkaJsClient, type KafkaOptions } from '../../../collector/receivers/kafka/kafkajs-client.ts';
import type { KafkaSource } from '../../../collector/receivers/kafka/take-batch.ts';
import { readErrorMessage } from '../../../src/domain/errors.ts';
import { createLog, silentLog } from '../../../src/telemetry/log.ts';
import type { KafkaBroker } from './kafka.ts';
import { recordingLetters } from '../fakes/recording-letters.ts';
import { testCollector } from './test-collector.ts';
import { until } from '../until.ts';

/** Kafka client that creates topics and records, and reads offsets. */
export class KafkaWorld {
  readonly #broker: KafkaBroker;
  readonly #admin: Admin;
  readonly #producer: Producer;
  readonly groupId = `group-${randomUUID()}`;

  private constructor(broker: KafkaBroker, admin: Admin, producer: Producer) {
    this.#broker = broker;
    this.#admin = admin;
    this.#producer = producer;
  }

  static async open(broker: KafkaBroker): Promise<KafkaWorld> {
    const kafka = new Kafka({
      brokers: [...broker.brokers],
      logLevel: logLevel.NOTHING,
      retry: { retries: 20 },
    });
    const admin = kafka.admin();
    const producer = kafka.producer();
    await Promise.all([admin.connect(), producer.connect()]);
    return new KafkaWorld(broker, admin, producer);
  }

  async close(): Promise<void> {
    await Promise.all([this.#admin.disconnect(), this.#producer.disconnect()]);
  }

  /** Creates a topic with a new name. */
  async topic(numPartitions = 1): Promise<string> {
    const topic = `topic-${randomUUID()}`;
    await this.#admin.createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions }] });
    await until(async () => {
      const { topics } = await this.#admin
        .fetchTopicMetadata({ topics: [topic] })
        .catch(() => ({ topics: [] }));
      return topics[0]?.partitions.every(({ leader }) => leader >= 0) === true;
    });
    return topic;
  }

  /** Sends records. Retries while the broker is down, so a record may be sent twice. */
  async send(topic: string, messages: Message[], compression = kafkajs.CompressionTypes.None): Promise<void> {
    for (;;) {
      try {
        await this.#producer.send({ topic, messages, compression });
        return;
      } catch (error) {
        if (!/ECONNREFUSED|Closed connection|timed out|closed/i.test(readErrorMessage(error))) {
          throw error;
        }
        await sleep(200);
      }
    }
  }

  /** Deletes the records before this offset, as the topic's retention does. */
  async expire(topic: string, offset: number, partition = 0): Promise<void> {
    await this.#admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
  }

  /** Reads the committed offsets by partition; -1 without one. */
  async committed(topic: string): Promise<number[]> {
    const [found] = await this.#admin.fetchOffsets({ groupId: this.groupId, topics: [topic] });
    return (found?.partitions ?? [])
      .sort((a, b) => a.partition - b.partition)
      .map(({ offset }) => Number(offset));
  }

  /**
   * True when every record of the topic is committed. Uses the broker's offsets, because a producer that retried may have
   * sent more records than it was given.
   */
  async caughtUp(topic: string): Promise<boolean> {
    const ends = await this.#admin.fetchTopicOffsets(topic);
    const committed = await this.committed(topic);
    return ends.every(({ partition, high }) => Number(high) === Math.max(0, committed[partition] ?? 0));
  }

  /** Starts a collector that reads these topics as a member of our group. */
  async collect(
    topics: readonly string[],
    source: Partial<KafkaSource> = {},
    options: {
      readonly kafka?: Partial<KafkaOptions>;
      readonly collector?: Parameters<typeof testCollector>[0];
    } = {},
  ) {
    const letters = recordingLetters();
    const log = process.env['TEST_LOG'] === undefined ? silentLog : createLog('debug');
    const started = await testCollector({
      log,
      deadLetters: letters,
      kafka: {
        client: createKafkaJsClient({
          brokers: this.#broker.brokers,
          groupId: this.groupId,
          topics,
          sessionTimeoutMs: 10_000,
          log,
          ...options.kafka,
        }),
        source: {
          signals: new Map(topics.map((topic) => [topic, 'traces'])),
          encoding: 'protobuf',
          tenant: '',
          ...source,
        },
        restartMs: 200,
        lagEveryMs: 500,
      },
      ...options.collector,
      limits: { retryAfterMs: 200, ...options.collector?.limits },
    });
    return { ...started, letters };
  }
}

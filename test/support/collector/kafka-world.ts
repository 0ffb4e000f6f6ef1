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

/** A client that makes topics and records, and looks at offsets. */
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

  /** A new topic. */
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

  /** Tries on while the broker is away: may then send a record twice. */
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

  /** As the topic's retention does: what is before this offset is gone. */
  async expire(topic: string, offset: number, partition = 0): Promise<void> {
    await this.#admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
  }

  /** Committed offsets by partition; -1 where there is none. */
  async committed(topic: string): Promise<number[]> {
    const [found] = await this.#admin.fetchOffsets({ groupId: this.groupId, topics: [topic] });
    return (found?.partitions ?? [])
      .sort((a, b) => a.partition - b.partition)
      .map(({ offset }) => Number(offset));
  }

  /** Every record of the topic is committed. A producer that tried twice may have sent more records than were given to it. */
  async caughtUp(topic: string): Promise<boolean> {
    const ends = await this.#admin.fetchTopicOffsets(topic);
    const committed = await this.committed(topic);
    return ends.every(({ partition, high }) => Number(high) === Math.max(0, committed[partition] ?? 0));
  }

  /** A collector that reads these topics as a member of our group. */
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
      },
      ...options.collector,
      limits: { retryAfterMs: 200, ...options.collector?.limits },
    });
    return { ...started, letters };
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { createKafkaJsClient } from '../../collector/receivers/kafka/kafkajs-client.ts';
import type { KafkaReceiverOptions } from '../../collector/receivers/kafka/kafka-receiver.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { kafkaMissing, startKafka } from '../support/collector/kafka.ts';
import { KafkaWorld } from '../support/collector/kafka-world.ts';
import { until } from '../support/until.ts';

const PARTITIONS = 4;
const RECORDS_PER_SEND = 3;
const DRAIN_TIMEOUT_MS = 120_000;

/** Interval of the looks at the rows, milliseconds. */
const LOOK_EVERY_MS = 10;

/** A topic of a real broker that is filled, then drained by the collector. */
export interface KafkaRoad {
  readonly receiver: KafkaReceiverOptions;
  /** Puts so many requests, a record each, into the topic while nobody reads. */
  fill(requests: number): Promise<void>;
  /** Lets the collector read until all rows are durable. Returns when everything is committed, too, which is not in the time. */
  drain(isDurable: () => boolean): Promise<{ tookMs: number; latenciesMs: readonly number[] }>;
  close(): Promise<void>;
}

/** Undefined, with a loud line, on a machine that cannot run a broker. Records are protobuf, uncompressed, as the Collector's. */
export async function kafkaRoad(bodies: readonly Buffer[], log: Log): Promise<KafkaRoad | undefined> {
  if ((await kafkaMissing()) !== undefined) {
    return undefined;
  }
  const broker = await startKafka();
  const world = await KafkaWorld.open(broker);
  const topic = await world.topic(PARTITIONS);
  const client = createKafkaJsClient({
    brokers: broker.brokers,
    groupId: world.groupId,
    topics: [topic],
    sessionTimeoutMs: 10_000,
    log,
  });
  let gate = Promise.resolve();
  let openGate = (): void => undefined;
  return {
    receiver: {
      client: { consume: (onBatch) => client.consume((batch) => gate.then(() => onBatch(batch))) },
      source: { signals: new Map([[topic, 'traces']]), encoding: 'protobuf', tenant: '' },
    },
    async fill(requests) {
      ({ promise: gate, resolve: openGate } = Promise.withResolvers<void>());
      for (let sent = 0; sent < requests; sent += RECORDS_PER_SEND) {
        const values = Array.from({ length: Math.min(RECORDS_PER_SEND, requests - sent) }, (_, index) => ({
          value: bodies[(sent + index) % bodies.length] as Buffer,
        }));
        await world.send(topic, values);
      }
    },
    async drain(isDurable) {
      const startedMs = performance.now();
      openGate();
      while (!isDurable() && performance.now() - startedMs < DRAIN_TIMEOUT_MS) {
        await sleep(LOOK_EVERY_MS);
      }
      const tookMs = performance.now() - startedMs;
      await until(() => world.caughtUp(topic), DRAIN_TIMEOUT_MS);
      return { tookMs, latenciesMs: [] };
    },
    async close() {
      await world.close();
      await broker.stop();
    },
  };
}

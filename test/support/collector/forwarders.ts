import { afterAll, afterEach, beforeAll } from 'vitest';
import type { KafkaBroker } from './kafka.ts';
import { startKafka } from './kafka.ts';
import { KafkaWorld } from './kafka-world.ts';
import { type ServeAddresses, ServeFolder } from '../processes/serve-process.ts';

/** A broker for one test file, and processes that forward to it. */
export interface Forwarders {
  broker: KafkaBroker;
  world: KafkaWorld;
  start(
    topics: { topic: string; logTopic: string },
    more?: Record<string, unknown>,
  ): Promise<{ folder: ServeFolder; addresses: ServeAddresses }>;
  /** Adds a step for the end of the test. Consumers of one group must read the same topics. */
  atEnd(stop: () => Promise<void>): void;
}

/**
 * Starts the broker of a test file.
 * @param missing reason why no broker can run here; the tests are then skipped
 */
export function forwardersOfTests(missing: string | undefined): Forwarders {
  const folders: ServeFolder[] = [];
  const stops: (() => Promise<void>)[] = [];
  const its = {
    async start(topics, more = {}) {
      const folder = new ServeFolder({
        forward: { kafka: { brokers: its.broker.brokers, ...topics } },
        ...more,
      });
      folders.push(folder);
      return { folder, addresses: await folder.start() };
    },
    atEnd: (stop) => void stops.push(stop),
  } as Forwarders;
  beforeAll(async () => {
    if (missing === undefined) {
      its.broker = await startKafka();
      its.world = await KafkaWorld.open(its.broker);
    }
  });
  // One hook for each: an error of one must not keep the others running.
  afterAll(() => its.broker?.stop());
  afterAll(() => its.world?.close());
  afterAll(() => Promise.all(folders.map((folder) => folder.dispose())));
  afterEach(async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
  });
  return its;
}

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TestCollector } from '../../../support/collector/test-collector.ts';
import { StoreUnavailableError } from '../../../../src/domain/errors.ts';
import { type CommitWatch, watchCommits } from '../../../support/collector/commit-watch.ts';
import {
  hasOwnBroker,
  type KafkaBroker,
  kafkaMissing,
  startKafka,
} from '../../../support/collector/kafka.ts';
import { KafkaWorld } from '../../../support/collector/kafka-world.ts';
import { requestBytes } from '../../../support/builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../../support/builders/otlp-requests.ts';
import type { RecordingSink } from '../../../support/fakes/recording-sink.ts';
import { seededRandom } from '../../../support/builders/score-streams.ts';
import { until } from '../../../support/until.ts';

const SEED = Number(process.env['SPANSCORE_SEED'] ?? Date.now() % 1_000_000);
/** Most records that wait to be stored: the consumers fail on purpose, and on a busy machine a producer without a bound outruns them. */
const MOST_AHEAD = 2_000;

const missing = await kafkaMissing();
const isOurs = hasOwnBroker(missing, 'offsets that are committed while a broker is away');

let broker: KafkaBroker;
let world: KafkaWorld;
let watch: CommitWatch;
const sinks: RecordingSink[] = [];
const collectors: TestCollector[] = [];

beforeAll(async () => {
  if (isOurs) {
    broker = await startKafka();
    world = await KafkaWorld.open(broker);
    watch = watchCommits(stored);
  }
}, 600_000);
afterAll(() => broker?.stop());
afterAll(() => world?.close());
afterEach(async () => {
  watch?.restore();
  await Promise.all(collectors.map((collector) => collector.stop()));
});

function stored(): Set<unknown> {
  return new Set(sinks.flatMap((sink) => sink.rows()).map((row) => row['SpanName']));
}

/** A consumer whose store fails every third insert, by chance. */
async function join(topic: string, random: () => number): Promise<void> {
  const { collector, sink } = await world.collect(
    [topic],
    {},
    { collector: { limits: { insertRetries: 0 } } },
  );
  sink.before = () => {
    if (random() < 1 / 3) {
      throw new StoreUnavailableError('away for a moment');
    }
  };
  sinks.push(sink);
  collectors.push(collector);
}

describe.skipIf(!isOurs)('offsets that are committed', () => {
  it(`never pass a record that is not stored: inserts that fail, a second member, a broker that is killed (seed ${SEED})`, async () => {
    const random = seededRandom(SEED);
    const topic = await world.topic(4);
    const stopping = new AbortController();
    let sent = 0;
    const producing = (async () => {
      while (!stopping.signal.aborted) {
        await until(() => sent - stored().size < MOST_AHEAD, 300_000);
        const names = Array.from({ length: 20 }, () => `span-${sent++}`);
        await world.send(
          topic,
          names.map((name) => ({ key: name, value: requestBytes(traceRequest([jsonSpan({ name })])) })),
        );
      }
    })();
    await join(topic, random);
    await until(() => stored().size > 100, 60_000);
    await join(topic, random);
    await until(() => sinks.every((sink) => sink.rows().length > 0), 60_000);
    await broker.kill();
    await broker.restart();
    const before = stored().size;
    await until(() => stored().size > before + 100, 90_000);
    stopping.abort();
    await producing;
    await until(() => stored().size === sent, 90_000);
    await until(() => world.caughtUp(topic), 90_000);

    expect(watch.unwritten).toEqual([]);
    expect(watch.commits).toBeGreaterThan(10);
  }, 600_000);
});

import kafkajs from 'kafkajs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TestCollector } from '../../../support/collector/test-collector.ts';
import { describeKafkaFault } from '../../../../collector/receivers/kafka/kafka-receiver.ts';
import {
  createKafkaJsClient,
  type KafkaOptions,
} from '../../../../collector/receivers/kafka/kafkajs-client.ts';
import { StoreRejectedError, StoreUnavailableError } from '../../../../src/domain/errors.ts';
import { NOTHING_PURGED } from '../../../../src/store/contracts/purge.ts';
import type { TraceKey } from '../../../../src/store/contracts/stores.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import {
  KAFKA_USER,
  type KafkaBroker,
  hasOwnBroker,
  kafkaMissing,
  produceWithJava,
  startKafka,
} from '../../../support/collector/kafka.ts';
import { KafkaWorld } from '../../../support/collector/kafka-world.ts';
import { requestBytes } from '../../../support/builders/otlp-proto-writer.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../../support/builders/otlp-requests.ts';
import type { RecordingSink } from '../../../support/fakes/recording-sink.ts';
import { until } from '../../../support/until.ts';

const missing = await kafkaMissing();
const ownBroker = hasOwnBroker(missing, 'a broker that is killed, TLS and SASL of Kafka');
const { GZIP, ZSTD } = kafkajs.CompressionTypes;

let broker: KafkaBroker;
let world: KafkaWorld;
const collectors: TestCollector[] = [];

beforeAll(async () => {
  if (missing === undefined) {
    broker = await startKafka();
  }
}, 600_000);
afterAll(() => broker?.stop());

afterEach(async () => {
  await Promise.all(collectors.splice(0).map((collector) => collector.stop()));
  await world?.close();
});

async function open(): Promise<KafkaWorld> {
  world = await KafkaWorld.open(broker);
  return world;
}

async function collect(...args: Parameters<KafkaWorld['collect']>) {
  const started = await world.collect(...args);
  collectors.push(started.collector);
  return started;
}

/** A record of one span with this name. */
function spanRecord(name: string) {
  return { value: requestBytes(traceRequest([jsonSpan({ name })])) };
}

function names(sink: RecordingSink): unknown[] {
  return sink.rows().map((row) => row['SpanName']);
}

async function named(sink: RecordingSink, expected: readonly string[]): Promise<void> {
  await until(() => expected.every((name) => names(sink).includes(name)), 90_000);
}

function numbered(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `span-${from + i}`);
}

describe.skipIf(missing !== undefined)('reading from Kafka', () => {
  it('commits only durable records, and continues at its position', async () => {
    await open();
    const topic = await world.topic(2);
    await world.send(topic, [{ ...spanRecord('first'), partition: 0 }]);
    const { collector, sink } = await collect([topic]);
    const store = Promise.withResolvers<void>();
    sink.before = () => store.promise;
    await until(() => sink.attempts.length > 0, 60_000);
    expect(await world.committed(topic)).toEqual([-1, -1]);
    const lags = () => [0, 1].map((partition) => collector.kafka?.status().lags.get(`${topic}/${partition}`));
    await until(() => lags().join() === '1,0');
    // The store still hangs, so no batch ends: the lag rises all the same.
    await world.send(topic, [
      { ...spanRecord('waiting'), partition: 0 },
      { ...spanRecord('waiting too'), partition: 0 },
    ]);
    await until(() => lags().join() === '3,0');
    store.resolve();
    await until(async () => (await world.committed(topic))[0] === 3);
    expect(names(sink)).toEqual(['first', 'waiting', 'waiting too']);
    await until(() => lags().join() === '0,0');
    await collector.stop();

    await world.send(topic, [{ ...spanRecord('second'), partition: 0 }]);
    const next = await collect([topic]);
    await named(next.sink, ['second']);
    expect(names(next.sink)).toEqual(['second']);
  });

  it('commits the first part of a large batch while the store hangs on the next one: a kill repeats that part alone', async () => {
    await open();
    const topic = await world.topic();
    const text = 'x'.repeat(100 * 1024);
    const large = (name: string) => ({
      value: requestBytes(traceRequest([jsonSpan({ name, attributes: [attribute('a', text)] })])),
    });
    await world.send(topic, numbered(60).map(large), GZIP);
    const { sink } = await collect([topic]);
    const store = Promise.withResolvers<void>();
    sink.before = async ({ rows }) => {
      if (rows.some((row) => row['SpanName'] === 'span-50')) {
        await store.promise;
      }
    };
    await until(async () => Number((await world.committed(topic))[0]) >= 20, 60_000);
    expect((await world.committed(topic))[0]).toBeLessThanOrEqual(50);
    store.resolve();
    await until(() => world.caughtUp(topic));
    expect(names(sink)).toEqual(numbered(60));
  });

  it('reads JSON, logs by topic or by the header of the Collector, and passes over empty records', async () => {
    await open();
    const [spans, logs, json] = [await world.topic(), await world.topic(), await world.topic()];
    await world.send(spans, [
      { value: null, key: 'a tombstone' },
      spanRecord('proto'),
      { value: requestBytes(logRequest([jsonLog()])), headers: { 'otelcol.signal': 'logs' } },
    ]);
    await world.send(logs, [{ value: requestBytes(logRequest([jsonLog()])) }]);
    await world.send(json, [{ value: JSON.stringify(traceRequest([jsonSpan({ name: 'json' })])) }]);
    const proto = await collect([spans, logs], {
      tenant: 'a',
      signals: new Map([
        [spans, 'traces'],
        [logs, 'logs'],
      ]),
    });
    await until(() => proto.sink.rows('otel_logs').length === 2, 60_000);
    await named(proto.sink, ['proto']);
    expect(proto.sink.rows().map((row) => row['Tenant'])).toEqual(['a']);
    expect(proto.letters.letters).toEqual([]);
    await until(async () => (await world.committed(spans))[0] === 3);
    await proto.collector.stop();
    const text = await collect([json], { encoding: 'json' });
    await named(text.sink, ['json']);
  });

  it('passes over the spans of purged traces: nobody reads them again', async () => {
    await open();
    const gone = '1af7651916cd43dd8448eb211c80319c';
    const purged = { ...NOTHING_PURGED, isEmpty: false, has: ({ traceId }: TraceKey) => traceId === gone };
    const late = { value: requestBytes(traceRequest([jsonSpan({ traceId: gone, name: 'late' })])) };
    const topic = await world.topic();
    const { collector, sink, letters } = await collect([topic], {}, { collector: { purged } });
    await world.send(topic, [late, spanRecord('kept'), late]);
    await until(async () => (await world.committed(topic))[0] === 3);

    expect(names(sink)).toEqual(['kept']);
    expect(letters.letters).toEqual([]);
    expect(collector.count('spanscore.receiver.records.purged')).toBe(2);
    expect(collector.count('spanscore.kafka.records')).toBe(3);
    expect(collector.count('spanscore.kafka.restarts')).toBe(0);
  });

  it('reads gzip and zstd', async () => {
    await open();
    const topic = await world.topic();
    const { sink } = await collect([topic]);
    await world.send(topic, numbered(20).map(spanRecord), GZIP);
    await world.send(topic, numbered(20, 20).map(spanRecord), ZSTD);
    await named(sink, numbered(40));
    expect(new Set(names(sink)).size).toBe(40);
  });

  it('reads all codecs as the Java client writes them', async () => {
    await open();
    const topic = await world.topic();
    const { sink, letters } = await collect([topic]);
    const spans = Array.from({ length: 200 }, () => jsonSpan({ name: 'from java' }));
    const value = requestBytes(traceRequest(spans));
    await produceWithJava(broker.brokers, {
      topic,
      codecs: ['lz4', 'snappy', 'gzip', 'zstd'],
      value,
      count: 5,
    });
    await until(() => sink.rows().length >= 4 * 5 * 200, 90_000);
    expect(new Set(names(sink))).toEqual(new Set(['from java']));
    expect(letters.letters).toEqual([]);
  });

  it('reads a record of 900 KiB', async () => {
    await open();
    const topic = await world.topic();
    const { sink } = await collect([topic]);
    const text = 'x'.repeat(900 * 1024);
    await world.send(topic, [
      {
        value: requestBytes(traceRequest([jsonSpan({ name: 'large', attributes: [attribute('a', text)] })])),
      },
    ]);
    await named(sink, ['large']);
    expect(sink.rows()[0]?.['SpanAttributes']).toEqual([['a', text]]);
  });

  it('continues with the first remaining record when the topic has dropped the next ones', async () => {
    await open();
    const topic = await world.topic();
    await world.send(topic, numbered(2).map(spanRecord));
    const before = await collect([topic]);
    await until(async () => (await world.committed(topic))[0] === 2, 60_000);
    await before.collector.stop();
    await world.send(topic, numbered(4, 2).map(spanRecord));
    await world.expire(topic, 4);
    const after = await collect([topic]);
    await named(after.sink, ['span-4', 'span-5']);
    await until(() => world.caughtUp(topic));
    expect(names(after.sink)).toEqual(['span-4', 'span-5']);
  });

  it('writes unreadable records to the dead letters with their bytes, and stores the records beside them', async () => {
    await open();
    const topic = await world.topic();
    const broken = Buffer.from('this is no protobuf');
    const half = requestBytes(traceRequest([jsonSpan({ name: 'good half' }), jsonSpan({ traceId: 'abcd' })]));
    await world.send(topic, [spanRecord('before'), { value: broken }, { value: half }, spanRecord('after')]);
    const { sink, letters } = await collect([topic]);
    await named(sink, ['before', 'good half', 'after']);
    await until(async () => (await world.committed(topic))[0] === 4);
    expect(letters.letters).toMatchObject([
      { topic, partition: 0, firstOffset: 1n, lastOffset: 1n, code: 'input_invalid', encoding: 'protobuf' },
      { firstOffset: 2n, reason: expect.stringContaining('1 rejected') },
    ]);
    expect(letters.letters[0]?.body).toEqual(broken);
  });

  it('skips a batch that is too large, records the gap, and reads the batches beside it', async () => {
    await open();
    const topic = await world.topic(2);
    const bomb = Buffer.alloc(3 * 1024 * 1024);
    await world.send(topic, [{ ...spanRecord('before'), partition: 0 }]);
    await world.send(
      topic,
      [bomb, bomb].map((value) => ({ value, partition: 0 })),
      GZIP,
    );
    await world.send(topic, [
      { ...spanRecord('after'), partition: 0 },
      { ...spanRecord('beside'), partition: 1 },
    ]);
    const { collector, sink, letters } = await collect(
      [topic],
      {},
      { kafka: { maxBatchBytes: 1024 * 1024 } },
    );
    await named(sink, ['before', 'after', 'beside']);
    await until(async () => (await world.committed(topic)).join() === '4,1');
    expect(letters.letters).toMatchObject([
      { firstOffset: 1n, lastOffset: 2n, encoding: 'batch', reason: expect.stringContaining('decompressed') },
    ]);
    expect(letters.letters[0]?.body.length).toBeGreaterThan(1_000);
    expect(collector.count('spanscore.kafka.restarts')).toBe(0);
  });

  it('waits while the store is down, commits nothing beyond, and loses nothing', async () => {
    await open();
    const topic = await world.topic(3);
    const { collector, sink } = await collect([topic], {}, { collector: { limits: { insertRetries: 0 } } });
    let down = true;
    sink.before = () => {
      if (down) {
        throw new StoreUnavailableError('the store is down');
      }
    };
    await world.send(topic, numbered(60).map(spanRecord));
    await until(() => sink.attempts.length > 6, 60_000);
    expect(await world.committed(topic)).toEqual([-1, -1, -1]);
    expect(collector.stats()).toMatchObject({ heldBytes: 0 });
    down = false;
    await named(sink, numbered(60));
    await until(() => world.caughtUp(topic));
  });

  it('sets a record aside that the store refuses again and again, and reads on', async () => {
    await open();
    const topic = await world.topic();
    const { sink, letters } = await collect([topic], {}, { collector: { limits: { retryAfterMs: 20 } } });
    sink.before = ({ rows }) => {
      if (rows.some((row) => row['SpanName'] === 'poison')) {
        throw new StoreRejectedError('a poisonous row');
      }
    };
    await world.send(topic, [spanRecord('poison')]);
    await world.send(topic, [spanRecord('behind')]);
    await named(sink, ['behind']);
    await until(() => letters.letters.length > 0);
    expect(letters.letters).toMatchObject([
      { firstOffset: 0n, reason: expect.stringContaining('poisonous') },
    ]);
  });

  it('shares partitions with members that come and go, and loses nothing', async () => {
    await open();
    const topic = await world.topic(6);
    const first = await collect([topic]);
    const sinks = [first.sink];
    const stopping = new AbortController();
    let sent = 0;
    const producing = (async () => {
      while (!stopping.signal.aborted) {
        await world.send(topic, numbered(50, sent).map(spanRecord));
        sent += 50;
      }
    })();
    await until(() => first.sink.rows().length > 100, 60_000);
    const second = await collect([topic]);
    sinks.push(second.sink);
    await until(() => second.sink.rows().length > 100, 60_000);
    await first.collector.stop();
    const beforeLeft = second.sink.rows().length;
    await until(() => second.sink.rows().length > beforeLeft + 200, 60_000);
    stopping.abort();
    await producing;
    const seen = () => new Set(sinks.flatMap((sink) => names(sink)));
    await until(() => seen().size === sent, 90_000);
    await until(() => world.caughtUp(topic));
    expect(sinks.map((sink) => sink.rows().length > 0)).toEqual([true, true]);
  });
});

describe.skipIf(!ownBroker)('a Kafka that wants to know who we are', () => {
  /** Joins a group on a new topic; the failure, or undefined. */
  async function join(options: Partial<KafkaOptions>): Promise<unknown> {
    await open();
    const topic = await world.topic();
    const client = createKafkaJsClient({
      brokers: broker.brokers,
      groupId: world.groupId,
      topics: [topic],
      log: silentLog,
      ...options,
    });
    try {
      const consumer = await client.consume((batch) => Promise.resolve({ done: batch.records.length }));
      await consumer.stop();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  it.each(['plain', 'scram-sha-512'] as const)('lets us in with %s', async (mechanism) => {
    expect(
      await join({ brokers: broker.saslBrokers ?? [], sasl: { mechanism, ...KAFKA_USER } }),
    ).toBeUndefined();
  });

  it('is spoken to in TLS', async () => {
    expect(
      await join({ brokers: broker.tls?.brokers ?? [], tls: { ca: broker.tls?.ca ?? '' } }),
    ).toBeUndefined();
  });

  it('is spoken to in TLS under the name in its certificate, where that is another than its address', async () => {
    const tls = { ca: broker.tls?.ca ?? '', servername: 'localhost' };
    expect(await join({ brokers: broker.tls?.brokers ?? [], tls })).toBeUndefined();
  });

  it.each([
    [
      'a wrong password',
      () => ({
        brokers: broker.saslBrokers ?? [],
        sasl: { mechanism: 'plain' as const, username: 'app', password: 'wrong-password' },
      }),
      'check receivers.kafka.sasl',
    ],
    [
      'a mechanism that it has not',
      () => ({
        brokers: broker.saslBrokers ?? [],
        sasl: { mechanism: 'scram-sha-256' as const, ...KAFKA_USER },
      }),
      'receivers.kafka.sasl.mechanism',
    ],
    ['no login', () => ({ brokers: broker.saslBrokers ?? [] }), 'may need TLS or a login'],
    ['no TLS', () => ({ brokers: broker.tls?.brokers ?? [] }), 'may need TLS or a login'],
    [
      'an unknown authority',
      () => ({ brokers: broker.tls?.brokers ?? [], tls: {} }),
      'receivers.kafka.tls.ca',
    ],
    [
      'a certificate for another name',
      () => ({
        brokers: broker.tls?.brokers ?? [],
        tls: { ca: broker.tls?.ca ?? '', servername: 'elsewhere.example' },
      }),
      'receivers.kafka.tls.serverName',
    ],
    ['TLS where there is none', () => ({ tls: {} }), 'receivers.kafka.tls'],
    ['no broker', () => ({ brokers: ['127.0.0.1:1'] }), 'nothing listens at this address'],
    ['a topic that is not there', () => ({ topics: ['not-there'] }), 'create it'],
  ])('is told %s, and what to change', async (_, options, hint) => {
    const fault = describeKafkaFault(await join(options()));
    expect(fault).toMatchObject({ likely: expect.stringContaining(hint) });
    expect(JSON.stringify(fault)).not.toContain('wrong-password');
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import type {
  KafkaClient,
  KafkaConsumer,
  KafkaRecord,
  OnBatch,
  KafkaSource,
} from '../../../collector/receivers/kafka/take-batch.ts';
import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';
import type { TraceKey } from '../../../src/store/contracts/stores.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { unavailable } from '../../support/fakes/recording-sink.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

let collector: TestCollector;

afterEach(() => collector.stop());

interface ScriptedConsumer {
  readonly end: (error: Error) => void;
  readonly onBatch: OnBatch;
  /** Lag of partition t/0, as the brokers say; null while they do not answer. */
  lag: number | null;
  stopped: boolean;
}

/** Consumers that end when told; `refusals` joins fail first. */
function scriptedClient(refusals = 0) {
  const consumers: ScriptedConsumer[] = [];
  let left = refusals;
  const client: KafkaClient = {
    consume: (onBatch): Promise<KafkaConsumer> => {
      if (left-- > 0) {
        return Promise.reject(new Error('connect ECONNREFUSED 127.0.0.1:9092'));
      }
      const ended = Promise.withResolvers<Error>();
      const consumer: ScriptedConsumer = { end: ended.resolve, onBatch, lag: 0, stopped: false };
      consumers.push(consumer);
      return Promise.resolve({
        ended: ended.promise,
        lastHeartbeatMs: () => 1,
        readLags: () =>
          consumer.lag === null
            ? Promise.reject(new Error('no reply'))
            : Promise.resolve(new Map([['t/0', consumer.lag]])),
        stop: () => {
          consumer.stopped = true;
          return Promise.resolve();
        },
      });
    },
  };
  return { client, consumers };
}

async function start(
  refusals = 0,
  limits: Parameters<typeof testCollector>[0] = {},
  source: Partial<KafkaSource> = {},
) {
  const { client, consumers } = scriptedClient(refusals);
  const letters = recordingLetters();
  const lines: string[] = [];
  const log = createLog('debug', { destination: { write: (line) => void lines.push(line) } });
  const started = await testCollector({
    log,
    deadLetters: letters,
    kafka: {
      client,
      source: { signals: new Map([['t', 'traces']]), encoding: 'protobuf', tenant: '', ...source },
      restartMs: 1,
      lagEveryMs: 1,
    },
    ...limits,
  });
  collector = started.collector;
  await until(() => consumers.length > 0);
  return { ...started, consumers, letters, lines };
}

function record(
  offset: bigint,
  value: Buffer | null = requestBytes(traceRequest([jsonSpan()])),
): KafkaRecord {
  return { offset, lastOffset: offset, value, headers: {} };
}

describe('records of purged traces', () => {
  it('are not stored and are no dead letters, and the offset moves on', async () => {
    const [kept, gone] = ['0af7651916cd43dd8448eb211c80319c', '1af7651916cd43dd8448eb211c80319c'];
    const purged = { ...NOTHING_PURGED, isEmpty: false, has: ({ traceId }: TraceKey) => traceId === gone };
    const { sink, consumers, letters } = await start(0, { purged });
    const records = [gone, kept, gone].map((traceId, offset) =>
      record(BigInt(offset), requestBytes(traceRequest([jsonSpan({ traceId })]))),
    );
    const outcome = await consumers[0]?.onBatch({ topic: 't', partition: 0, records });

    expect(outcome).toEqual({ done: 3 });
    expect(sink.rows().map((row) => row['TraceId'])).toEqual([kept]);
    expect(letters.letters).toEqual([]);
    expect(collector.count('spanscore.receiver.records.purged')).toBe(2);
  });
});

describe('the header spanscore.tenant of a record', () => {
  it.each([
    [true, 'a'],
    [false, 'own'],
  ])('names its tenant where the receiver trusts it (%s)', async (trustsTenants, tenant) => {
    const { sink, consumers } = await start(0, {}, { trustsTenants, tenant: 'own' });
    const records = [{ ...record(1n), headers: { 'spanscore.tenant': 'a' } }];
    await consumers[0]?.onBatch({ topic: 't', partition: 0, records });
    expect(sink.rows().map((row) => row['Tenant'])).toEqual([tenant]);
  });
});

describe('the supervision of a Kafka consumer', () => {
  it('starts without a reachable broker, and logs the likely cause', async () => {
    const { lines } = await start(3);
    expect(collector.count('spanscore.kafka.restarts')).toBe(3);
    await until(() => collector.kafka?.status().connected === true);
    expect(lines.join('\n')).toContain('nothing listens at this address: check receivers.kafka.brokers');
  });

  it('replaces a consumer that ended for good, after taking leave for it', async () => {
    const { consumers } = await start();
    consumers[0]?.end(new Error('not implemented'));
    await until(() => consumers.length === 2);
    expect(consumers.map(({ stopped }) => stopped)).toEqual([true, false]);
    expect(collector.count('spanscore.kafka.restarts')).toBe(1);
    await collector.stop();
    expect(consumers.map(({ stopped }) => stopped)).toEqual([true, true]);
  });
});

describe('the lag of a Kafka receiver', () => {
  const lag = () => collector.kafka?.status().lags.get('t/0');

  it('rises while the store hangs and no batch ends', async () => {
    const { consumers, sink } = await start();
    const [consumer] = consumers;
    const store = Promise.withResolvers<void>();
    sink.before = () => store.promise;
    const batch = consumer?.onBatch({ topic: 't', partition: 0, records: [record(7n)] });
    await until(() => lag() === 0);

    Object.assign(consumer ?? {}, { lag: 5_000 });
    await until(() => lag() === 5_000);

    store.resolve();
    expect(await batch).toEqual({ done: 1 });
  });

  it('stays as it was while the brokers do not answer, and the log says so once', async () => {
    const { consumers, lines } = await start();
    const [consumer] = consumers;
    Object.assign(consumer ?? {}, { lag: 3 });
    await until(() => lag() === 3);
    const warnings = () => lines.filter((line) => line.includes('the lag of Kafka is not known'));

    Object.assign(consumer ?? {}, { lag: null });
    await until(() => warnings().length > 0);
    expect(lag()).toBe(3);
    Object.assign(consumer ?? {}, { lag: 4 });
    await until(() => lag() === 4);

    expect(warnings()).toHaveLength(1);
  });

  it('is none after the consumer has ended', async () => {
    const { consumers } = await start();
    await until(() => lag() === 0);
    await collector.stop();

    expect([consumers[0]?.stopped, lag()]).toEqual([true, undefined]);
  });
});

describe('how far a batch was taken', () => {
  it('ends before the first record that cannot be stored now, and pauses longer each time', async () => {
    const { consumers, sink, letters } = await start(0, {
      limits: { insertRetries: 0, batchRows: 1, retryAfterMs: 10 },
    });
    const batch = { topic: 't', partition: 0, records: [record(7n), record(8n), record(9n)] };
    sink.before = ({ rows }) => {
      if (sink.attempts.length > 1) {
        throw new StoreUnavailableError(`down for ${rows.length}`);
      }
    };
    const pauses: (number | undefined)[] = [];
    const first = await consumers[0]?.onBatch(batch);
    expect(first).toEqual({ done: 1, retryAfterMs: 10 });
    const rest = { ...batch, records: batch.records.slice(1) };
    for (let i = 0; i < 3; i++) {
      pauses.push((await consumers[0]?.onBatch(rest))?.retryAfterMs);
    }
    expect(pauses).toEqual([20, 40, 80]);
    sink.before = () => undefined;
    expect(await consumers[0]?.onBatch(rest)).toEqual({ done: 2 });
    expect(letters.letters).toEqual([]);
  });

  it('waits when a dead letter cannot be written, and for memory', async () => {
    const { consumers, letters } = await start(0, { limits: { retryAfterMs: 10, maxInFlightBytes: 1_000 } });
    letters.before = unavailable(1);
    const broken = { topic: 't', partition: 0, records: [record(1n, Buffer.from('broken'))] };
    expect(await consumers[0]?.onBatch(broken)).toEqual({ done: 0, retryAfterMs: 10 });
    expect(await consumers[0]?.onBatch(broken)).toEqual({ done: 1 });
    expect(letters.letters).toHaveLength(1);
    const large = { topic: 't', partition: 1, records: [record(1n, Buffer.alloc(1_001))] };
    expect(await consumers[0]?.onBatch(large)).toEqual({ done: 0, retryAfterMs: 10 });
    expect(collector.stats().heldBytes).toBe(0);
  });

  it('gives the same record the same dead letter each time', async () => {
    const { consumers, letters } = await start();
    const broken = { topic: 't', partition: 0, records: [record(1n, Buffer.from('broken'))] };
    await consumers[0]?.onBatch(broken);
    await consumers[0]?.onBatch(broken);
    await consumers[0]?.onBatch({ ...broken, partition: 1 });
    const [a, b, c] = letters.letters.map(({ id }) => id);
    expect(a).toBe(b);
    expect(a).not.toBe(c);
  });
});

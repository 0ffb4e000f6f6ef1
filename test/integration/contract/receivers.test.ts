import { countedMetrics } from '../../support/collector/counted-metrics.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { type Collector, startCollector } from '../../../collector/collector.ts';
import { bearerTokens, type ReceiverDefinition } from '../../../collector/receivers/receiver.ts';
import { RECEIVERS } from '../../../src/components.ts';
import { configSchema, parseConfig } from '../../../src/configuration.ts';
import { listReceivers } from '../../../src/config/schema/components.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { SENDERS, type SendSpan } from '../../support/collector/receiver-senders.ts';
import { recordingLetters } from '../../support/fakes/recording-letters.ts';
import { recordingSink, unavailable } from '../../support/fakes/recording-sink.ts';

const SENDER = 'sender-token-of-team-a-0123456789';
const READER = 'reader-token-of-team-a-0123456789';
const MAX_BODY_BYTES = 4_096;
const CONFIG = parseConfig({
  receivers: { otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } } },
  rules: [],
});

let collectors: Collector[] = [];
afterEach(async () => {
  await Promise.all(collectors.map((collector) => collector.stop()));
  collectors = [];
});

/** Starts a collector with this receiver alone, over a store in memory. */
async function start(definition: ReceiverDefinition) {
  const [configured] = listReceivers(CONFIG, [definition]);
  if (configured === undefined) {
    throw new Error(`${definition.name} is not configured`);
  }
  const sink = recordingSink();
  const collector = await startCollector({
    sink,
    deadLetters: recordingLetters(),
    receivers: new Map([[definition.name, await definition.configure(configured.options, silentLog)]]),
    authenticate: bearerTokens([
      { name: 'team-a', token: SENDER, tenant: 'a', scopes: ['ingest'] },
      { name: 'dashboard', token: READER, tenant: 'a', scopes: ['read'] },
    ]),
    limits: { batchAgeMs: 5, insertRetries: 0, maxBodyBytes: MAX_BODY_BYTES },
    log: silentLog,
    metrics: countedMetrics(),
  });
  collectors.push(collector);
  const address = collector.addresses.get(definition.name);
  const sender = SENDERS[definition.name];
  if (address === undefined || sender === undefined) {
    throw new Error(`give ${definition.name} a sender in test/support/collector/receiver-senders.ts`);
  }
  const send = (options?: Parameters<SendSpan>[1]) => sender(address, { token: SENDER, ...options });
  return { collector, send, sink };
}

/** Receivers that a sender reaches. Kafka is read: test/integration/collector/kafka.test.ts has its proofs, with a broker. */
const LISTENING: readonly ReceiverDefinition[] = RECEIVERS.filter(({ name }) => name !== 'kafka');

describe('the receivers of src/components.ts', () => {
  it('are those that the configuration has keys for, each with its options and a line of documentation', () => {
    const { otlp, kafka } = configSchema.shape.receivers.unwrap().shape;
    const { http, grpc } = otlp.unwrap().shape;
    const schemas = [http.unwrap(), grpc.unwrap(), kafka.unwrap()];
    expect(RECEIVERS.map(({ options }) => options)).toEqual(schemas);
    expect(RECEIVERS.map(({ key }) => key)).toEqual([
      'receivers.otlp.http',
      'receivers.otlp.grpc',
      'receivers.kafka',
    ]);
    for (const { options } of RECEIVERS) {
      expect(options.description).toMatch(/\w\.$/);
    }
  });

  it('are not started where they are not configured', async () => {
    const configured = listReceivers<ReceiverDefinition>(CONFIG, RECEIVERS);
    expect(configured.map(({ section }) => section.name)).toEqual(['otlp-http', 'otlp-grpc']);
  });
});

describe.each(LISTENING)('$name', (definition) => {
  it('takes spans of a known sender, into its tenant', async () => {
    const { send, sink } = await start(definition);
    expect(await send()).toBe('acknowledged');
    expect(sink.rows().map((row) => row['Tenant'])).toEqual(['a']);
  });

  it('refuses an unknown token and one without the scope ingest, before anything is stored', async () => {
    const { send, sink } = await start(definition);
    expect(await send({ token: `${SENDER}x` })).toBe('unauthenticated');
    expect(await send({ token: READER })).toBe('forbidden');
    expect(sink.attempts).toEqual([]);
  });

  it('refuses a body that is too large, and takes the next one', async () => {
    const { send, sink } = await start(definition);
    expect(await send({ padding: 2 * MAX_BODY_BYTES })).toBe('too large');
    expect(sink.attempts).toEqual([]);
    expect(await send()).toBe('acknowledged');
  });

  it('acknowledges only when the store has the rows', async () => {
    const { send, sink } = await start(definition);
    const stored = Promise.withResolvers<void>();
    sink.before = () => stored.promise;
    let outcome: string | undefined;
    const sending = send().then((each) => (outcome = each));

    await expect.poll(() => sink.attempts.length).toBe(1);
    expect(outcome).toBeUndefined();
    stored.resolve();

    expect(await sending).toBe('acknowledged');
    expect(sink.rows()).toHaveLength(1);
  });

  it('asks the sender to come again when the store fails, and acknowledges the repeat', async () => {
    const { send, sink } = await start(definition);
    sink.before = unavailable(1);
    expect(await send()).toBe('again');
    expect(sink.rows()).toEqual([]);
    expect(await send()).toBe('acknowledged');
    expect(sink.rows()).toHaveLength(1);
  });

  it('listens until it is stopped', async () => {
    const { collector, send } = await start(definition);
    expect(collector.stats().notListening).toEqual([]);
    await collector.stop();
    expect(collector.stats().notListening).toEqual([definition.name]);
    await expect(send()).rejects.toThrow(/ECONNREFUSED/);
  });
});

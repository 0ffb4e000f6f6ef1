import { afterEach, describe, expect, it } from 'vitest';
import { type Forwarder, startForwarder } from '../../../collector/forward/forwarder.ts';
import type { KafkaProducer, OutgoingRecord } from '../../../collector/forward/kafka-producer.ts';
import { bearerTokens } from '../../../collector/receivers/bearer-tokens.ts';
import type { CollectorLimits } from '../../../collector/limits.ts';
import type { AccessToken } from '../../../src/config/access.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { metricListener } from '../../../collector/collector-metrics.ts';
import { framed, grpcCall, TRACES_METHOD } from '../../support/collector/grpc-call.ts';
import { metricValue } from '../../support/documents/metric-lines.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../support/builders/otlp-requests.ts';
import { until } from '../../support/until.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };
const [A, B] = ['a'.repeat(32), 'b'.repeat(32)];

let forwarder: Forwarder | undefined;

afterEach(async () => {
  await forwarder?.stop();
  forwarder = undefined;
});

interface Sent {
  readonly topic: string;
  readonly records: readonly OutgoingRecord[];
}

/** A broker in memory; `onSend` may fail or hold what comes. */
async function start(
  options: {
    onSend?: () => void | Promise<void>;
    limits?: Partial<CollectorLimits>;
    maxRecordBytes?: number;
    tokens?: AccessToken[];
  } = {},
) {
  const sent: Sent[] = [];
  const producer: KafkaProducer = {
    async send(topic, records) {
      await options.onSend?.();
      sent.push({ topic, records });
    },
    check: async () => options.onSend?.(),
    stop: async () => undefined,
  };
  const metrics = createMetrics({ version: '1', log: silentLog });
  forwarder = await startForwarder({
    producer,
    topics: { traces: 'spans', logs: 'logs' },
    maxRecordBytes: options.maxRecordBytes ?? 100_000,
    http: LOOPBACK,
    grpc: LOOPBACK,
    limits: { patienceMs: 300, ...options.limits },
    authenticate: bearerTokens(options.tokens ?? []),
    listener: metricListener(metrics),
    log: silentLog,
  });
  return { forwarder, sent, metrics };
}

const TWO_TRACES = traceRequest([
  jsonSpan({ traceId: A }),
  jsonSpan({ traceId: B }),
  jsonSpan({ traceId: A }),
]);

function refused(): never {
  throw new Error('connect ECONNREFUSED 127.0.0.1:9092');
}

describe('a forwarder', () => {
  it('sends a record for each trace, with its id as key, and states its content in headers', async () => {
    const { sent, metrics } = await start();
    const address = forwarder?.address ?? LOOPBACK;
    expect((await post(address, protobuf(requestBytes(TWO_TRACES)))).status).toBe(200);
    expect((await post(address, { body: TWO_TRACES })).status).toBe(200);
    expect(
      (await post(address, { path: '/v1/logs', body: logRequest([jsonLog({ traceId: A })]) })).status,
    ).toBe(200);

    const summary = sent.map(({ topic, records }) => [
      topic,
      records.map(({ key }) => key),
      records[0]?.headers,
    ]);
    expect(summary).toEqual([
      ['spans', [A, B], { 'otelcol.signal': 'traces', 'content-type': 'application/x-protobuf' }],
      ['spans', [A, B], { 'otelcol.signal': 'traces', 'content-type': 'application/json' }],
      ['logs', [A], { 'otelcol.signal': 'logs', 'content-type': 'application/json' }],
    ]);
    const text = await metrics.text();
    expect(metricValue(text, 'spanscore_forward_records_total')).toBe(5);
    expect(metricValue(text, 'spanscore_receiver_records_written_total{signal="traces"}')).toBe(6);
  });

  it('acknowledges only when the broker has', async () => {
    const gate = Promise.withResolvers<void>();
    let asked = 0;
    await start({
      onSend: () => {
        asked++;
        return gate.promise;
      },
      limits: { patienceMs: 20_000 },
    });
    let answered = false;
    const answer = post(forwarder?.address ?? LOOPBACK, { body: TWO_TRACES }).then((reply) => {
      answered = true;
      return reply;
    });
    await until(() => asked === 1);
    expect(answered).toBe(false);
    expect(forwarder?.heldBytes()).toBeGreaterThan(0);
    gate.resolve();
    expect((await answer).status).toBe(200);
    expect(forwarder?.heldBytes()).toBe(0);
  });

  it('answers 503 with Retry-After and UNAVAILABLE with RetryInfo while no broker can be reached', async () => {
    const { metrics } = await start({ onSend: refused });
    const answer = await post(forwarder?.address ?? LOOPBACK, { body: TWO_TRACES });
    expect(answer.status).toBe(503);
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.body).toContain('nothing listens at this address: check forward.kafka.brokers');

    const grpc = forwarder?.grpcAddress ?? LOOPBACK;
    const call = await grpcCall(grpc, { path: TRACES_METHOD, body: framed(requestBytes(TWO_TRACES)) });
    expect(call).toMatchObject({ status: 14, retry: { seconds: 1 } });
    expect(metricValue(await metrics.text(), 'spanscore_forward_failures_total{reason="refused"}')).toBe(2);
  });

  it('answers the sender before it gives up, and holds the bytes until the send has ended', async () => {
    const gate = Promise.withResolvers<void>();
    await start({ onSend: () => gate.promise, limits: { patienceMs: 20 } });
    const answer = await post(forwarder?.address ?? LOOPBACK, { body: TWO_TRACES });
    expect(answer.status).toBe(503);
    expect(answer.body).toContain('no acknowledgement within 20 ms');
    expect(forwarder?.heldBytes()).toBeGreaterThan(0);
    gate.resolve();
    await until(() => forwarder?.heldBytes() === 0);
  });

  it('answers 429 when the held bytes reach the limit', async () => {
    const gate = Promise.withResolvers<void>();
    const body = traceRequest([jsonSpan({ attributes: [attribute('text', 'x'.repeat(40_000))] })]);
    await start({
      onSend: () => gate.promise,
      limits: { patienceMs: 20, maxInFlightBytes: 100_000, maxBodyBytes: 90_000 },
    });
    const address = forwarder?.address ?? LOOPBACK;
    expect((await post(address, { body })).status).toBe(503);
    expect((await post(address, { body })).status).toBe(429);
    gate.resolve();
    await until(() => forwarder?.heldBytes() === 0);
    expect((await post(address, { body })).status).toBe(200);
  });

  it('reports a span that fits no record as a partial success, and sends the others', async () => {
    const { sent } = await start({ maxRecordBytes: 20_000 });
    const large = jsonSpan({ traceId: B, attributes: [attribute('text', 'x'.repeat(30_000))] });
    const answer = await post(forwarder?.address ?? LOOPBACK, {
      body: traceRequest([large, jsonSpan({ traceId: A })]),
    });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({
      partialSuccess: { rejectedSpans: '1', errorMessage: expect.stringContaining(`of trace ${B}`) },
    });
    expect(sent.flatMap(({ records }) => records.map(({ key }) => key))).toEqual([A]);
  });

  it('sends in portions that fit one batch of the topic', async () => {
    const { sent } = await start({ maxRecordBytes: 20_000 });
    const spans = Array.from({ length: 60 }, (_, i) =>
      jsonSpan({
        traceId: (i + 1).toString(16).padStart(32, '0'),
        attributes: [attribute('text', 'x'.repeat(1_500))],
      }),
    );
    expect((await post(forwarder?.address ?? LOOPBACK, { body: traceRequest(spans) })).status).toBe(200);
    const sizes = sent.map(({ records }) => records.reduce((sum, { value }) => sum + value.length, 0));
    expect(sizes.length).toBeGreaterThan(4);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(20_000);
    expect(sent.flatMap(({ records }) => records)).toHaveLength(60);
  });

  it("writes the tenant of the sender's token on its records", async () => {
    const tokens: AccessToken[] = [
      { name: 'team-a', token: 'token-of-team-a!', tenant: 'a', scopes: ['ingest'] },
    ];
    const { sent } = await start({ tokens });
    const headers = { authorization: 'Bearer token-of-team-a!' };
    expect((await post(forwarder?.address ?? LOOPBACK, { headers, body: TWO_TRACES })).status).toBe(200);
    expect(sent[0]?.records[0]?.headers).toMatchObject({ 'spanscore.tenant': 'a' });
    expect((await post(forwarder?.address ?? LOOPBACK, { body: TWO_TRACES })).status).toBe(401);
  });

  it('answers unreadable requests as a collector does', async () => {
    await start();
    const address = forwarder?.address ?? LOOPBACK;
    expect((await post(address, protobuf(Buffer.from('no protobuf')))).status).toBe(400);
    expect((await post(address, { body: Buffer.from('{') })).status).toBe(400);
    expect((await post(address, protobuf(Buffer.alloc(0)))).status).toBe(200);
  });

  it('answers 413 to JSON that takes more to be read than may be held', async () => {
    const { sent } = await start({ limits: { maxInFlightBytes: 8_000_000, maxBodyBytes: 8_000_000 } });
    const body = Buffer.from(`{"resourceSpans":[${'[],'.repeat(500_000)}0]}`);
    expect((await post(forwarder?.address ?? LOOPBACK, { body })).status).toBe(413);
    expect(sent).toEqual([]);
    expect(forwarder?.heldBytes()).toBe(0);
  });

  it('is ready when it listens and a broker answers, and says why it is not', async () => {
    let down = false;
    await start({ onSend: () => (down ? refused() : undefined) });
    const check = async (name: string) => forwarder?.checks.find((entry) => entry.name === name)?.check();
    await check('receivers');
    await check('forward');
    down = true;
    await expect(check('forward')).rejects.toThrow(/ECONNREFUSED.*check forward\.kafka\.brokers/);
  });
});

import type { EventEmitter } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { bearerTokens } from '../../../collector/receivers/receiver.ts';
import { StoreRejectedError, StoreUnavailableError } from '../../../src/domain/errors.ts';
import {
  callOn,
  framed,
  grpcCall,
  type GrpcCall,
  grpcConnection,
  LOGS_METHOD,
} from '../../support/collector/grpc-call.ts';
import { type Address, post } from '../../support/collector/otlp-post.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { unavailable } from '../../support/fakes/recording-sink.ts';
import { sdkLogs, sdkSpans } from '../../support/builders/sdk-records.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;
type ExportResult = Parameters<Parameters<OTLPTraceExporter['export']>[1]>[0];

let collector: TestCollector;

afterEach(async () => {
  vi.unstubAllEnvs();
  await collector.stop();
});

async function start(options: Parameters<typeof testCollector>[0] = {}) {
  const started = await testCollector({ grpc: { host: '127.0.0.1', port: 0 }, ...options });
  collector = started.collector;
  return started;
}

function address(): Address {
  if (collector.grpcAddress === undefined) {
    throw new Error('gRPC does not listen');
  }
  return collector.grpcAddress;
}

function call(options: GrpcCall = {}) {
  return grpcCall(address(), { body: framed(requestBytes(traceRequest([jsonSpan()]))), ...options });
}

function formatUrl(): string {
  return `http://${address().host}:${address().port}`;
}

/** With limits so short that a busy machine may be late with a call that is fine. */
async function takesCallsAgain(): Promise<void> {
  await until(async () => (await call().catch(() => undefined))?.status === 0);
}

/** Resolves however a connection was closed: what its peer did not read is told as an error first. */
function closed(connection: EventEmitter): Promise<void> {
  connection.on('error', () => undefined);
  return new Promise((resolve) => connection.once('close', () => resolve()));
}

function exportOnce(exporter: OTLPTraceExporter, spans: ReadableSpan[]): Promise<ExportResult> {
  return new Promise((resolve) => exporter.export(spans, resolve));
}

describe('the real gRPC exporters of the OpenTelemetry SDK', () => {
  it('land the rows that HTTP lands, plain and gzipped', async () => {
    const { sink } = await start();
    const spans = sdkSpans(3);
    const plain = new OTLPTraceExporter({ url: formatUrl() });
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
    const gzipped = new OTLPTraceExporter({ url: formatUrl() });
    for (const exporter of [plain, gzipped]) {
      expect(await exportOnce(exporter, spans)).toMatchObject({ code: 0 });
      await exporter.shutdown();
    }
    const rows = sink.rows();
    expect(rows.slice(0, 4).map((row) => row['SpanName'])).toEqual(spans.map((span) => span.name));
    expect(rows.slice(4)).toEqual(rows.slice(0, 4));
  });

  it('land GenAI events', async () => {
    const { sink } = await start();
    const exporter = new OTLPLogExporter({ url: formatUrl() });
    const result = await new Promise<ExportResult>((resolve) => exporter.export(sdkLogs(), resolve));
    await exporter.shutdown();
    expect(result).toMatchObject({ code: 0 });
    expect(sink.rows('otel_logs').map((row) => row['EventName'])).toEqual(['gen_ai.choice']);
  });

  it('get an error when the store is down', async () => {
    const { sink } = await start({ limits: { insertRetries: 0 } });
    sink.before = unavailable(1);
    const exporter = new OTLPTraceExporter({ url: formatUrl() });
    const spans = sdkSpans();
    expect(await exportOnce(exporter, spans)).toMatchObject({
      code: 1,
      error: { code: 14, details: 'the store is down' },
    });
    expect(await exportOnce(exporter, spans)).toMatchObject({ code: 0 });
    await exporter.shutdown();
    expect(sink.rows().map((row) => row['SpanName'])).toEqual(spans.map((span) => span.name));
  });
});

describe('OTLP/gRPC', () => {
  it('reads gzip, deflate and zstd, in any letter case, and a message that is marked as plain', async () => {
    const { sink } = await start();
    const request = requestBytes(traceRequest([jsonSpan({ name: 'packed' })]));
    const calls: GrpcCall[] = [
      { headers: { 'grpc-encoding': 'GZIP' }, body: framed(gzipSync(request), true) },
      { headers: { 'grpc-encoding': 'deflate' }, body: framed(deflateSync(request), true) },
      { headers: { 'grpc-encoding': 'zstd' }, body: framed(zstdCompressSync(request), true) },
      { headers: { 'grpc-encoding': 'gzip' }, body: framed(request) },
      { headers: { 'content-type': 'application/grpc+proto' }, body: framed(request) },
    ];
    for (const each of calls) {
      expect(await call(each)).toMatchObject({ http: 200, status: 0 });
    }
    expect(sink.rows().map((row) => row['SpanName'])).toEqual(calls.map(() => 'packed'));
  });

  it('reports rejected spans as a partial success, and answers an empty request', async () => {
    await start();
    const bad = requestBytes(traceRequest([jsonSpan(), jsonSpan({ traceId: 'abcd' })]));
    const partial = await call({ body: framed(bad) });
    expect(partial.status).toBe(0);
    expect(partial.body.toString()).toContain('1 spans rejected');
    expect(await call({ body: framed(Buffer.alloc(0)) })).toMatchObject({ status: 0 });
    expect(await call({ path: LOGS_METHOD, body: framed(Buffer.alloc(0)) })).toMatchObject({ status: 0 });
  });

  it('reports back-pressure with the time to wait, so that senders repeat', async () => {
    const { sink } = await start({ limits: { insertRetries: 0, retryAfterMs: 1_250, batchRows: 1 } });
    sink.before = () => {
      throw new StoreUnavailableError('the store is down');
    };
    expect(await call()).toMatchObject({ status: 14, retry: { seconds: 1, nanos: 250_000_000 } });
    await collector.stop();
    await start({ limits: { maxInFlightBytes: 10, retryAfterMs: 2_000 } });
    expect(await call()).toMatchObject({ status: 8, retry: { seconds: 2, nanos: 0 } });
  });

  it('answers permanent errors without a time to wait, and sets rows aside that the store refuses', async () => {
    const { sink, letters } = await start();
    expect(await call({ body: framed(Buffer.from('no protobuf')) })).toMatchObject({
      status: 3,
      retry: undefined,
    });
    const good = sink.before;
    sink.before = ({ rows }) => {
      if (rows.some((row) => row['SpanName'] === 'poison')) {
        throw new StoreRejectedError('a poisonous row');
      }
    };
    const poison = framed(requestBytes(traceRequest([jsonSpan({ name: 'poison' })])));
    const [refused, taken] = await Promise.all([call({ body: poison }), call()]);
    expect([refused.status, taken.status]).toEqual([0, 0]);
    expect(refused.body.toString()).toContain('a poisonous row');
    expect(letters.letters).toMatchObject([{ source: 'otlp-grpc', reason: 'a poisonous row' }]);
    sink.before = good;
    expect(await call()).toMatchObject({ status: 0 });
  });

  it('refuses unknown methods, encodings and content types', async () => {
    await start();
    const profiles = '/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export';
    expect(await call({ path: profiles })).toMatchObject({
      status: 12,
      message: expect.stringContaining(profiles),
    });
    expect(await call({ headers: { 'grpc-encoding': 'br' } })).toMatchObject({ status: 12 });
    expect(await call({ headers: { 'content-type': 'application/json' } })).toMatchObject({ http: 415 });
    expect(await call({ body: framed(gzipSync('x'), true) })).toMatchObject({ status: 13 });
  });

  it('accepts a bearer token, and its tenant is on the rows', async () => {
    const { sink } = await start({
      authenticate: bearerTokens([
        { name: 'token-1', token: 'of-team-a', tenant: 'team-a', scopes: ['ingest'] },
        { name: 'token-2', token: 'of-a-reader', tenant: '', scopes: ['read'] },
      ]),
    });
    const withToken = (token: string) => call({ headers: { authorization: `Bearer ${token}` } });
    expect([
      (await call()).status,
      (await withToken('no')).status,
      (await withToken('of-a-reader')).status,
    ]).toEqual([16, 16, 7]);
    expect((await withToken('of-team-a')).status).toBe(0);
    expect(sink.rows().map((row) => row['Tenant'])).toEqual(['team-a']);
  });

  it('keeps the deadline of the sender, and stores the rows', async () => {
    const { sink } = await start();
    const store = Promise.withResolvers<void>();
    sink.before = () => store.promise;
    expect(await call({ headers: { 'grpc-timeout': '500000u' } })).toMatchObject({ status: 4 });
    store.resolve();
    await until(() => sink.rows().length === 1);
    expect(await call({ headers: { 'grpc-timeout': 'soon' } })).toMatchObject({ status: 3 });
  });
});

describe('hostile gRPC', () => {
  it('above 64 MiB is refused: announced, sent, and after decompression', async () => {
    await start();
    const announced = Buffer.from([0, 0xff, 0xff, 0xff, 0xff]);
    const bomb = gzipSync(Buffer.alloc(64 * MIB + 1));
    const answers = [
      await call({ body: announced }),
      await call({ body: framed(Buffer.alloc(64 * MIB + 1)) }),
      await call({ headers: { 'grpc-encoding': 'gzip' }, body: framed(bomb, true) }),
    ];
    expect(answers.map(({ status, retry }) => ({ status, retry }))).toEqual(
      answers.map(() => ({ status: 8, retry: undefined })),
    );
    expect(collector.stats().heldBytes).toBe(0);
    expect((await call()).status).toBe(0);
  });

  it.each([
    ['no message', Buffer.alloc(0)],
    ['half a prefix', Buffer.from([0, 0])],
    ['half a message', framed(Buffer.alloc(10)).subarray(0, 9)],
    ['two messages', Buffer.concat([framed(Buffer.alloc(0)), framed(Buffer.alloc(0))])],
    ['an unknown flag', Buffer.from([7, 0, 0, 0, 0])],
  ])('a body with %s is an invalid argument', async (_, body) => {
    await start();
    expect(await call({ body })).toMatchObject({ status: 3 });
  });

  it('a body that never ends is cut off, and its memory given back: DEADLINE_EXCEEDED', async () => {
    await start({ limits: { requestTimeoutMs: 100, headersTimeoutMs: 100 } });
    const session = grpcConnection(address());
    expect(await callOn(session, {})).toMatchObject({ http: 200, status: 4 });
    session.destroy();
    await until(() => collector.stats().heldBytes === 0);
    await takesCallsAgain();
  });

  it('connections that say nothing, or something else, are closed', async () => {
    await start({ limits: { keepAliveTimeoutMs: 100 } });
    const silent = connect(address().port, address().host);
    const http1 = connect(address().port, address().host);
    http1.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    silent.resume();
    http1.resume();
    await Promise.all([closed(silent), closed(http1)]);
    await expect(takesCallsAgain()).resolves.toBeUndefined();
  });

  it('connections that send bytes and never a call are closed all the same', async () => {
    await start({ limits: { keepAliveTimeoutMs: 200 } });
    const pinging = grpcConnection(address());
    pinging.on('connect', () => {
      const ping = setInterval(() => pinging.destroyed || pinging.ping(() => undefined), 20);
      pinging.once('close', () => clearInterval(ping));
    });
    const dripping = connect(address().port, address().host);
    dripping.resume();
    dripping.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    dripping.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    // A header block of 16,000 bytes is announced; one byte comes at a time.
    dripping.write(Buffer.from([0, 0x3e, 0x80, 1, 4, 0, 0, 0, 1]));
    const drip = setInterval(() => dripping.write(Buffer.from([0x82])), 20);
    await Promise.all([closed(pinging), closed(dripping)]);
    clearInterval(drip);
    await expect(takesCallsAgain()).resolves.toBeUndefined();
  });

  it('connections above the limit end the oldest silent ones, and senders are served beside them', async () => {
    await start({ limits: { maxConnections: 5 } });
    const sockets = Array.from({ length: 20 }, () => connect(address().port, address().host));
    sockets.forEach((socket) => socket.on('error', () => undefined));
    await until(() => collector.count('spanscore.receiver.connections.dropped') >= 15);
    await takesCallsAgain();
    sockets.forEach((socket) => socket.destroy());
    expect(collector.count('spanscore.receiver.connections.dropped')).toBeGreaterThanOrEqual(15);
  });

  it('a sender that never reads its reply loses the call', async () => {
    await start({ limits: { requestTimeoutMs: 200, headersTimeoutMs: 200 } });
    const session = grpcConnection(address(), { initialWindowSize: 0 });
    await callOn(session, { body: framed(Buffer.alloc(0)) }).catch(() => undefined);
    expect(session.destroyed).toBe(false);
    session.destroy();
  });

  it('senders that never read their replies keep no other sender out', async () => {
    await start({ limits: { maxConnections: 5 } });
    const sessions = Array.from({ length: 20 }, () => grpcConnection(address(), { initialWindowSize: 0 }));
    sessions.forEach(
      (session) => void callOn(session, { body: framed(Buffer.alloc(0)) }).catch(() => undefined),
    );
    await until(() => collector.count('spanscore.receiver.connections.dropped') >= 15);
    await expect(takesCallsAgain()).resolves.toBeUndefined();
    sessions.forEach((session) => session.destroy());
  });

  it('calls that are cancelled at once by the thousand leave nothing behind', async () => {
    await start();
    const session = grpcConnection(address());
    for (let i = 0; i < 3_000 && !session.destroyed; i++) {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/x',
        'content-type': 'application/grpc',
      });
      stream.on('error', () => undefined);
      stream.close();
    }
    await sleep(50);
    session.destroy();
    await until(() => collector.stats().heldBytes === 0);
    expect((await call()).status).toBe(0);
  });
});

describe('a stop with gRPC', () => {
  it('answers every call that was begun and loses nothing acknowledged, on either port', async () => {
    const { sink } = await start({ limits: { batchAgeMs: 20 } });
    sink.before = () => sleep(30);
    const acknowledged: unknown[] = [];
    const stopping = new AbortController();
    const session = grpcConnection(address());
    const grpcSender = async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        const span = jsonSpan();
        const answer = await callOn(session, { body: framed(requestBytes(traceRequest([span]))) }).catch(
          () => undefined,
        );
        if (answer?.status === 0) {
          acknowledged.push(span['spanId']);
        }
        await sleep(1);
      }
    };
    const httpSender = async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        const span = jsonSpan();
        const answer = await post(collector.address, { body: traceRequest([span]) }).catch(() => undefined);
        if (answer?.status === 200) {
          acknowledged.push(span['spanId']);
        }
      }
    };
    const senders = [...Array.from({ length: 10 }, grpcSender), ...Array.from({ length: 10 }, httpSender)];
    await until(() => acknowledged.length > 50);
    await collector.stop();
    stopping.abort();
    await Promise.all(senders);
    session.destroy();
    const stored = new Set(sink.rows().map((row) => row['SpanId']));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(collector.stats()).toMatchObject({ heldBytes: 0, pendingRowBytes: 0, insertsRunning: 0 });
  });
});

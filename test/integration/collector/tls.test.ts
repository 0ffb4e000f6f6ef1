import { connect as connectHttp2, constants } from 'node:http2';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { readServerTls } from '../../../src/config/tls-files.ts';
import { framed, TRACES_METHOD } from '../../support/collector/grpc-call.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';
import type { Address } from '../../support/collector/otlp-post.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

const FILES = new URL('../../fixtures/tls/', import.meta.url);
const formatPath = (name: string): string => new URL(name, FILES).pathname;
const pem = (name: string): Buffer => readFileSync(formatPath(name));
const SERVER = { cert: formatPath('server.pem'), key: formatPath('server.key') };
const ca = pem('ca.pem');
const CLIENT = { ca, cert: pem('client.pem'), key: pem('client.key') };

const LOCAL = { host: '127.0.0.1', port: 0 };
let collector: TestCollector | undefined;

afterEach(async () => {
  await collector?.stop();
});

async function start(clientCa?: string) {
  const tls = readServerTls({ ...SERVER, clientCa }, 'tls');
  const started = await testCollector({ http: { ...LOCAL, tls }, grpc: { ...LOCAL, tls } });
  collector = started.collector;
  return { ...started, http: collector.address, grpc: collector.grpcAddress ?? LOCAL };
}

/** The HTTP status of a request over TLS. */
function send(address: Address, path: string, body: string, options: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        ...address,
        ...options,
        path,
        method: body === '' ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json' },
        agent: false,
      },
      (response) => resolve(response.resume().statusCode ?? 0),
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** The gRPC status of a call over TLS. */
function call({ host, port }: Address, options: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://${host}:${port}`, options);
    session.on('error', reject);
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: TRACES_METHOD,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', reject);
    stream.on('trailers', (trailers) => resolve(Number(trailers['grpc-status'])));
    stream.on('close', () => {
      session.close();
      reject(new Error('closed without a status'));
    });
    stream.resume();
    stream.end(framed(requestBytes(traceRequest([jsonSpan({ name: 'grpc' })]))));
  });
}

const BODY = JSON.stringify(traceRequest([jsonSpan({ name: 'http' })]));

describe('receivers with TLS', () => {
  it('take spans over HTTPS and over gRPC with TLS from who trusts their authority', async () => {
    const { http, grpc, sink } = await start();
    expect(await send(http, '/v1/traces', BODY, { ca })).toBe(200);
    expect(await call(grpc, { ca })).toBe(0);
    expect(sink.rows().map((row) => row['SpanName'])).toEqual(['http', 'grpc']);
    await expect(send(http, '/v1/traces', BODY, {})).rejects.toThrow(/certificate/);
  });

  it('let in only clients of an authority, where one is named', async () => {
    const { http, grpc, sink } = await start(formatPath('ca.pem'));
    await expect(send(http, '/v1/traces', BODY, { ca })).rejects.toThrow(
      /certificate|reset|closed|socket|hang up|EPIPE/i,
    );
    await expect(call(grpc, { ca })).rejects.toThrow(/certificate|reset|closed|cancel|socket|hang up|EPIPE/i);
    expect(sink.attempts).toEqual([]);
    expect(await send(http, '/v1/traces', BODY, CLIENT)).toBe(200);
    expect(await call(grpc, CLIENT)).toBe(0);
  });

  it('answer nothing that is not TLS, and stop at once though such connections are open', async () => {
    const { http, grpc } = await start();
    const sockets = [http, grpc].map(({ port, host }) => connectTcp(port, host));
    sockets.forEach((socket) => socket.on('error', () => undefined).resume());
    await until(() => sockets.every((socket) => socket.readyState === 'open'));
    await collector?.stop();
    await until(() => sockets.every((socket) => socket.destroyed || socket.readableEnded));
    expect(sockets.map((socket) => socket.bytesRead)).toEqual([0, 0]);
    sockets.forEach((socket) => socket.destroy());
  });
});

describe('the API with TLS', () => {
  it('is spoken to over HTTPS', async () => {
    const api = await startTestApi({ tls: readServerTls(SERVER, 'api.tls') });
    expect(await send(api.address, '/healthz', '', { ca })).toBe(200);
    await api.stop();
  });
});

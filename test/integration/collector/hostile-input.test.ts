import { connect } from 'node:net';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { callOn, framed, grpcConnection } from '../../support/collector/grpc-call.ts';
import { readAll, post, protobuf } from '../../support/collector/otlp-post.ts';
import {
  type Json,
  lengthField,
  requestBytes,
  spanBytes,
  varintField,
} from '../../support/builders/otlp-proto-writer.ts';
import { attribute, jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import type { Row } from '../../support/store/row-binary-reader.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;
const LOCAL = { host: '127.0.0.1', port: 0 };
let collector: TestCollector;

afterEach(async () => {
  await until(() => collector.stats().heldBytes === 0);
  await collector.stop();
});

async function start(options: Parameters<typeof testCollector>[0] = {}) {
  const started = await testCollector({ grpc: LOCAL, ...options });
  collector = started.collector;
  return started;
}

/** HTTP and gRPC status of the same bytes, the HTTP answer, and the rows that they became over HTTP. */
async function sent(body: Uint8Array, options: Parameters<typeof testCollector>[0] = {}) {
  const { sink } = await start(options);
  const http = await post(collector.address, protobuf(body));
  const rows = sink.rows();
  const session = grpcConnection(collector.grpcAddress ?? LOCAL);
  const grpc = await callOn(session, { body: framed(body) });
  session.destroy();
  return { http: http.status, grpc: grpc.status, body: http.body, rows };
}

/** The same as JSON: HTTP status, answer and rows. */
async function sentJson(request: Json | string) {
  const { sink } = await start();
  const body = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request));
  const answer = await post(collector.address, { body });
  return { http: answer.status, body: answer.body, rows: sink.rows() };
}

function buildRequest(...spans: Uint8Array[]): Buffer {
  return lengthField(1, lengthField(2, Buffer.concat(spans.map((span) => lengthField(2, span)))));
}

function readValue(rows: readonly Row[], key: string): unknown {
  const attributes = rows.flatMap((row) => row['SpanAttributes'] as [string, string][]);
  return attributes.find(([name]) => name === key)?.[1];
}

/** Reads a raw connection until the collector closes it. */
async function raw(request: string): Promise<string> {
  const socket = connect(collector.address.port, collector.address.host);
  socket.write(request);
  return readAll(socket);
}

describe('compressed content', () => {
  it('gzip within gzip is unpacked once, and is then no request: 400', async () => {
    await start();
    const nested = gzipSync(gzipSync(Buffer.alloc(10 * MIB)));
    const answer = await post(collector.address, protobuf(nested, { 'content-encoding': 'gzip' }));
    expect(answer.status).toBe(400);
  });

  it('a list of encodings is not understood: 415', async () => {
    await start();
    const nested = gzipSync(gzipSync(Buffer.alloc(10)));
    const answer = await post(collector.address, protobuf(nested, { 'content-encoding': 'gzip, gzip' }));
    expect(answer.status).toBe(415);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['zstd', zstdCompressSync],
  ] as const)('%s that breaks off is no request: 400', async (encoding, compress) => {
    await start();
    const whole = compress(requestBytes(traceRequest([jsonSpan()])));
    const cut = protobuf(whole.subarray(0, whole.length - 9), { 'content-encoding': encoding });
    expect((await post(collector.address, cut)).status).toBe(400);
  });
});

describe('lengths that lie', () => {
  it('a body longer than announced ends its connection: 400', async () => {
    await start();
    const body = JSON.stringify(traceRequest([jsonSpan()]));
    const head = `POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const answer = await raw(`${head}\r\n\r\n${body}and more that is no request\r\n\r\n`);
    expect(answer.slice(0, 12)).toBe('HTTP/1.1 400');
  });

  it('two lengths, or a length beside chunks, are refused: 400', async () => {
    await start();
    for (const lengths of [
      'Content-Length: 2\r\nContent-Length: 3',
      'Content-Length: 2\r\nTransfer-Encoding: chunked',
      'Content-Length: -1',
    ]) {
      const answer = await raw(`POST /v1/traces HTTP/1.1\r\nHost: x\r\n${lengths}\r\n\r\n{}`);
      expect([lengths, answer.slice(0, 12)]).toEqual([lengths, 'HTTP/1.1 400']);
    }
  });

  it('headers of 20 kB are refused: 431', async () => {
    await start();
    const answer = await raw(`POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`);
    expect(answer.slice(0, 12)).toBe('HTTP/1.1 431');
  });
});

describe('protobuf', () => {
  it('that breaks off anywhere is no request: 400, INVALID_ARGUMENT', async () => {
    const whole = requestBytes(traceRequest([jsonSpan({ attributes: [attribute('key', 'value')] })]));
    expect(await sent(whole.subarray(0, -5))).toMatchObject({ http: 400, grpc: 3, rows: [] });
  });

  it('with a million unknown fields is read: 200, OK', async () => {
    const unknown = Buffer.concat(Array.from({ length: 1_000_000 }, () => Buffer.from([0xa0, 0x1f, 1])));
    const body = buildRequest(Buffer.concat([spanBytes(jsonSpan()), unknown]));
    expect(await sent(body)).toMatchObject({ http: 200, grpc: 0, rows: [{ SpanName: 'chat' }] });
  });

  it.each([
    ['spans', (empty: Buffer) => lengthField(1, lengthField(2, empty)), 2],
    ['scopes', (empty: Buffer) => lengthField(1, empty), 2],
    ['resources', (empty: Buffer) => empty, 1],
  ])('with a million %s that are empty is too large: 413, RESOURCE_EXHAUSTED', async (_, wrap, field) => {
    const empty = Buffer.alloc(2_000_000);
    for (let i = 0; i < empty.length; i += 2) {
      empty[i] = field * 8 + 2;
    }
    expect(await sent(wrap(empty))).toMatchObject({ http: 413, grpc: 8, rows: [] });
  });

  it.each([
    ['attributes', 0x4a],
    ['events', 0x5a],
    ['links', 0x6a],
  ])('with a million empty %s in a span is a partial success: 200, OK', async (_, tag) => {
    const empty = Buffer.alloc(2_000_000);
    for (let i = 0; i < empty.length; i += 2) {
      empty[i] = tag;
    }
    const span = Buffer.concat([spanBytes(jsonSpan()), empty]);
    const { http, grpc, body, rows } = await sent(buildRequest(span, spanBytes(jsonSpan())));
    expect([http, grpc, rows.length]).toEqual([200, 0, 1]);
    expect(body).toContain('it lists more than 100000');
  });

  it('with a length beyond 2^32 is no request: 400, INVALID_ARGUMENT', async () => {
    const body = Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x01]);
    expect(await sent(body)).toMatchObject({ http: 400, grpc: 3 });
  });

  it('with integers beyond 2^53 keeps their digits: 200', async () => {
    const intValue = lengthField(2, varintField(3, 9_007_199_254_740_993n));
    const pair = lengthField(9, Buffer.concat([lengthField(1, Buffer.from('n')), intValue]));
    const { http, rows } = await sent(buildRequest(Buffer.concat([spanBytes(jsonSpan()), pair])));
    expect([http, readValue(rows, 'n')]).toEqual([200, '9007199254740993']);
  });

  it.each([
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
  ])('with the number %s is read: 200', async (name, number) => {
    const double = Buffer.alloc(9, 0x21);
    double.writeDoubleLE(number, 1);
    const pair = lengthField(9, Buffer.concat([lengthField(1, Buffer.from('n')), lengthField(2, double)]));
    const { http, rows } = await sent(buildRequest(Buffer.concat([spanBytes(jsonSpan()), pair])));
    expect([http, readValue(rows, 'n')]).toEqual([200, name]);
  });

  it('with invalid UTF-8 is mended: 200', async () => {
    const bad = Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80]);
    const pair = Buffer.concat([lengthField(1, bad), lengthField(2, lengthField(1, bad))]);
    const { http, rows } = await sent(
      buildRequest(Buffer.concat([spanBytes(jsonSpan()), lengthField(9, pair)])),
    );
    const mended = bad.toString('utf8');
    expect([http, readValue(rows, mended)]).toEqual([200, mended]);
  });

  it.each([
    ['of 15 bytes', Buffer.alloc(15, 1)],
    ['of zeros', Buffer.alloc(16)],
    ['as hex text', Buffer.from('0af7651916cd43dd8448eb211c80319c')],
  ])('with a trace id %s is a partial success: 200', async (_, traceId) => {
    const span = Buffer.concat([lengthField(1, traceId), lengthField(2, Buffer.alloc(8, 1))]);
    const { http, grpc, body, rows } = await sent(buildRequest(span, spanBytes(jsonSpan())));
    expect([http, grpc, rows.length]).toEqual([200, 0, 1]);
    expect(body).toContain('1 spans rejected: resourceSpans[0].scopeSpans[0].spans[0]: traceId');
  });
});

describe('JSON', () => {
  it.each([
    ['hex', '0af7651916cd43dd8448eb211c80319c'],
    ['hex in capitals', '0AF7651916CD43DD8448EB211C80319C'],
    ['base64', 'CvdlGRbNQ92ESOshHIAxnA=='],
  ])('with a trace id in %s is read: 200', async (_, traceId) => {
    const { http, rows } = await sentJson(traceRequest([jsonSpan({ traceId })]));
    expect([http, rows[0]?.['TraceId']]).toEqual([200, '0af7651916cd43dd8448eb211c80319c']);
  });

  it.each([
    ['9007199254740993', '9007199254740993'],
    ['-9223372036854775808', '-9223372036854775808'],
  ])('with the integer %s as text keeps its digits: 200', async (intValue, kept) => {
    const { http, rows } = await sentJson(
      traceRequest([jsonSpan({ attributes: [{ key: 'n', value: { intValue } }] })]),
    );
    expect([http, readValue(rows, 'n')]).toEqual([200, kept]);
  });

  it('with an invalid integer is a partial success: 200', async () => {
    const attributes = [{ key: 'n', value: { intValue: '1e400' } }];
    const { http, body } = await sentJson(traceRequest([jsonSpan({ attributes }), jsonSpan()]));
    expect(http).toBe(200);
    expect(body).toContain('an intValue is no integer');
  });

  it.each(['NaN', 'Infinity', '-Infinity'])('with the double "%s" is read: 200', async (doubleValue) => {
    const attributes = [{ key: 'n', value: { doubleValue } }];
    const { http, rows } = await sentJson(traceRequest([jsonSpan({ attributes })]));
    expect([http, readValue(rows, 'n')]).toEqual([200, doubleValue]);
  });

  it('with a million spans that are empty is too large: 413', async () => {
    const spans = `[${'{},'.repeat(999_999)}{}]`;
    expect(await sentJson(`{"resourceSpans":[{"scopeSpans":[{"spans":${spans}}]}]}`)).toMatchObject({
      http: 413,
    });
  });

  it('of 8,000 honest spans with 30 attributes each is read: 200', async () => {
    const attributes = Array.from({ length: 30 }, (_, i) => attribute(`gen_ai.attribute.${i}`, `value ${i}`));
    const spans = Array.from({ length: 8_000 }, () => jsonSpan({ attributes }));
    const { http, rows } = await sentJson(traceRequest(spans));
    expect([http, rows.length]).toEqual([200, 8_000]);
  });

  it('with a bare NaN is no JSON: 400', async () => {
    expect(await sentJson('{"resourceSpans": NaN}')).toMatchObject({ http: 400 });
  });

  it('with lone surrogates is mended: 200', async () => {
    const text = JSON.stringify(traceRequest([jsonSpan({ attributes: [attribute('HERE', 'HERE')] })]));
    const { http, rows } = await sentJson(text.replaceAll('HERE', 'a\\ud800b'));
    expect([http, readValue(rows, 'a\ufffdb')]).toEqual([200, 'a\ufffdb']);
  });

  it('of 100,000 levels is refused or left out, never a crash: 400', async () => {
    const depth = 100_000;
    expect(await sentJson(`${'['.repeat(depth)}${']'.repeat(depth)}`)).toMatchObject({ http: 400 });
  });
});

describe('content of every kind', () => {
  it('an attribute of 1 MiB is kept whole: 200', async () => {
    const value = 'é'.repeat(MIB / 2);
    const body = requestBytes(traceRequest([jsonSpan({ attributes: [attribute('a', value)] })]));
    const { http, grpc, rows } = await sent(body);
    expect([http, grpc, readValue(rows, 'a') === value]).toEqual([200, 0, true]);
  });

  it('10,000 attributes are kept: 200', async () => {
    const many = Array.from({ length: 10_000 }, (_, i) => attribute(`k${i}`, `${i}`));
    const { http, rows } = await sent(requestBytes(traceRequest([jsonSpan({ attributes: many })])));
    expect([http, readValue(rows, 'k9999')]).toEqual([200, '9999']);
  });

  it.each([
    ['NUL', 'a\0b'],
    ['text that changes direction', 'a\u202eb\u2066c'],
    ['text without width', 'a\u200bb\ufeff'],
    ['HTML', '<img src=x onerror=alert(1)>'],
    ['Markdown', '[x](javascript:alert(1)) `'],
    ['commands of a terminal', '\u001b[2J\u001b]0;x\u0007'],
    ['a formula of a spreadsheet', '=HYPERLINK("http://x")'],
    ['SQL', "'; DROP TABLE otel_traces; --\n\nDROP TABLE otel_logs"],
    ['a name that Prometheus would refuse', '9 bad-label{"}'],
    ['an inside of objects', '__proto__'],
    ['another inside of objects', 'constructor'],
    ['a method of objects', 'toString'],
    ['dots, spaces, quotes, backticks and a dollar', 'a.b c"\'`$'],
    ['nothing', ''],
  ])('%s is kept as it is, as key, value and name: 200', async (_, text) => {
    const request = traceRequest([jsonSpan({ name: text, attributes: [attribute(text, text)] })]);
    const { http, grpc, rows } = await sent(requestBytes(request));
    expect([http, grpc, rows[0]?.['SpanName'], readValue(rows, text)]).toEqual([200, 0, text, text]);
  });
});

describe('whose the rows are', () => {
  it('comes from the token alone, for any headers and attributes: 200', async () => {
    const { sink } = await start({ authenticate: () => ({ tenant: 'a' }) });
    const attributes = [attribute('tenant', 'b'), attribute('Tenant', 'b')];
    const body = requestBytes(traceRequest([jsonSpan({ attributes })], 'tenant=b'));
    const headers = { tenant: 'b', 'x-scope-orgid': 'b', 'x-tenant-id': 'b' };
    expect((await post(collector.address, protobuf(body, headers))).status).toBe(200);
    expect((await post(collector.address, { ...protobuf(body), path: '/v1/traces?tenant=b' })).status).toBe(
      200,
    );
    expect(sink.rows().map((row) => row['Tenant'])).toEqual(['a', 'a']);
  });
});

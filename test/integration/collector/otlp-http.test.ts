import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Authentication } from '../../../collector/receivers/receiver.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { jsonLog, jsonSpan, logRequest, traceRequest } from '../../support/builders/otlp-requests.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import type { RecordingSink } from '../../support/fakes/recording-sink.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';
import browser from '../../fixtures/attacks/browser.json' with { type: 'json' };

const TOKENS = new Map<string, Authentication>([
  ['Bearer wrong', { status: 401, message: 'unknown token' }],
  ['Bearer reader', { status: 403, message: 'this token may not ingest' }],
  ['Bearer a', { tenant: 'team-a' }],
]);

let collector: TestCollector;
let sink: RecordingSink;

beforeAll(async () => {
  ({ collector, sink } = await testCollector({
    limits: { patienceMs: 50, insertRetries: 0 },
    authenticate: ({ authorization = '' }) => TOKENS.get(authorization) ?? { tenant: '' },
  }));
});
afterAll(() => collector.stop());
beforeEach(() => {
  sink.before = () => undefined;
});

function send(options: Parameters<typeof post>[1]): ReturnType<typeof post> {
  return post(collector.address, options);
}

const oneSpan = () => traceRequest([jsonSpan()]);

describe('accepted requests', () => {
  it('a request, answered after its rows are durable, in its own content type', async () => {
    const span = jsonSpan({ name: 'first' });
    const json = await send({ body: traceRequest([span]) });
    expect([json.status, json.headers['content-type'], json.body]).toEqual([200, 'application/json', '{}']);
    expect(sink.rows().map((row) => row['SpanId'])).toContain(span['spanId']);
    const proto = await send(protobuf(requestBytes(oneSpan())));
    expect([proto.status, proto.headers['content-type'], proto.body]).toEqual([
      200,
      'application/x-protobuf',
      '',
    ]);
  });

  it('content types with parameters and in any letter case', async () => {
    const json = await send({
      body: oneSpan(),
      headers: { 'content-type': 'Application/JSON; charset=UTF-8' },
    });
    const proto = await send({
      body: requestBytes(oneSpan()),
      headers: { 'content-type': 'APPLICATION/X-PROTOBUF;q=1' },
    });
    expect([json.status, proto.status]).toEqual([200, 200]);
  });

  it.each([
    ['GZIP', gzipSync],
    ['gzip', (raw: Buffer) => Buffer.concat([gzipSync(raw.subarray(0, 40)), gzipSync(raw.subarray(40))])],
    ['Deflate', deflateSync],
    ['zstd', zstdCompressSync],
    ['identity', (raw: Buffer) => raw],
  ] as const)('bodies encoded as %s', async (name, compress) => {
    const span = jsonSpan();
    const body = compress(requestBytes(traceRequest([span])));
    const answer = await send(protobuf(body, { 'content-encoding': name }));
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(sink.rows().map((row) => row['SpanId'])).toContain(span['spanId']);
  });

  it('content that compresses far better than usual', async () => {
    const name = 'a'.repeat(4_000_000);
    const raw = requestBytes(traceRequest([jsonSpan({ name })]));
    for (const [encoding, compress] of [
      ['zstd', zstdCompressSync] as const,
      ['deflate', deflateSync] as const,
    ]) {
      const answer = await send(protobuf(compress(raw), { 'content-encoding': encoding }));
      expect(answer.status).toBe(200);
    }
  });

  it('empty requests', async () => {
    expect((await send({ body: {} })).body).toBe('{}');
    expect((await send(protobuf(Buffer.alloc(0)))).status).toBe(200);
    expect((await send(protobuf(Buffer.alloc(0), { 'content-encoding': 'gzip' }))).status).toBe(200);
  });

  it('GenAI events as log records', async () => {
    const answer = await send({ path: '/v1/logs', body: logRequest([jsonLog(), jsonLog({ traceId: '' })]) });
    expect(answer).toMatchObject({ status: 200, body: '{}' });
    expect(sink.rows('otel_logs').map((row) => row['EventName'])).toEqual(['gen_ai.choice']);
    expect(collector.count('spanscore.receiver.records.written logs')).toBe(1);
    expect(collector.count('spanscore.receiver.logs.dropped')).toBe(1);
  });

  it('the good spans of a request, with the bad ones named as a partial success', async () => {
    const good = jsonSpan();
    const answer = await send({ body: traceRequest([jsonSpan({ traceId: 'ab' }), good]) });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({
      partialSuccess: { rejectedSpans: '1', errorMessage: expect.stringContaining('spans[0]: traceId') },
    });
    expect(sink.rows().map((row) => row['SpanId'])).toContain(good['spanId']);
  });

  it('rows of the tenant that the token names', async () => {
    const span = jsonSpan();
    await send({ body: traceRequest([span]), headers: { authorization: 'Bearer a' } });
    const row = sink.rows().find((each) => each['SpanId'] === span['spanId']);
    expect(row?.['Tenant']).toBe('team-a');
  });
});

describe('refused requests', () => {
  it('other paths, with a hint', async () => {
    const answer = await send({ path: '/v1/profiles' });
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body)).toEqual({
      code: 5,
      message: 'there is no receiver at /v1/profiles; send OTLP to /v1/traces and /v1/logs',
    });
  });

  it('other methods, naming the one allowed', async () => {
    const answer = await send({ method: 'PUT' });
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
  });

  it.each(['text/plain', 'application/x-protobufs', ''])('content type "%s"', async (type) => {
    const answer = await send({ headers: { 'content-type': type } });
    expect(answer.status).toBe(415);
    expect(JSON.parse(answer.body)).toMatchObject({
      message: expect.stringContaining('application/x-protobuf'),
    });
  });

  it('unknown content encodings', async () => {
    const answer = await send({ headers: { 'content-encoding': 'br' } });
    expect([answer.status, answer.headers['accept-encoding']]).toEqual([415, 'gzip, deflate, zstd']);
  });

  it('wrong tokens, and tokens that may not ingest', async () => {
    const unknown = await send({ headers: { authorization: 'Bearer wrong' } });
    expect([unknown.status, unknown.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    expect((await send({ headers: { authorization: 'Bearer reader' } })).status).toBe(403);
  });

  it('a gzip header on a plain body, and a gzip body that breaks off', async () => {
    const raw = requestBytes(oneSpan());
    for (const body of [raw, gzipSync(raw).subarray(0, 50)]) {
      const answer = await send(protobuf(body, { 'content-encoding': 'gzip' }));
      expect([answer.status, answer.headers['content-type']]).toEqual([400, 'application/x-protobuf']);
    }
  });

  it('broken protobuf and broken JSON, in the content type of the request', async () => {
    const raw = requestBytes(oneSpan());
    const proto = await send(protobuf(raw.subarray(0, raw.length - 3)));
    expect([proto.status, proto.headers['content-type']]).toEqual([400, 'application/x-protobuf']);
    expect(proto.body).toContain('the protobuf body cannot be read');
    const json = await send({ body: Buffer.from('{"resourceSpans":[') });
    expect([json.status, JSON.parse(json.body)]).toEqual([400, { code: 3, message: 'the body is not JSON' }]);
  });

  it('everything while the store is down, asking to send again', async () => {
    sink.before = () => {
      throw new StoreUnavailableError('the store is down', { retryAfterMs: 3_000 });
    };
    const answer = await send({ body: oneSpan() });
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '3']);
    expect(JSON.parse(answer.body)).toEqual({ code: 14, message: 'the store is down' });
  });
});

describe('a page in a browser', () => {
  it.each(
    browser.requests
      .filter(({ port }) => port === 'otlp-http')
      .map(({ headers, ...each }) => [JSON.stringify(headers), { headers, ...each }] as const),
  )('cannot send spans: %s', async (_, { path, headers }) => {
    const before = sink.rows().length;
    const { status } = await send({ path, headers, body: oneSpan() });
    expect([403, 415]).toContain(status);
    expect(sink.rows()).toHaveLength(before);
  });

  it.each(['null', '', 'http://localhost:4318'])(
    'cannot send protobuf or logs from the origin "%s" either',
    async (origin) => {
      expect(await send(protobuf(requestBytes(oneSpan()), { origin }))).toMatchObject({ status: 403 });
      const logs = await send({ path: '/v1/logs', headers: { origin }, body: logRequest([jsonLog()]) });
      expect(logs).toMatchObject({ status: 403, body: expect.stringContaining('may not send OTLP') });
    },
  );

  it('is no SDK, which may use any host', async () => {
    const { status } = await send({ headers: { host: 'spanscore.internal:4318' }, body: oneSpan() });
    expect(status).toBe(200);
  });
});

describe('an address in use', () => {
  it('gives an error with the key to change', async () => {
    await expect(testCollector({ http: collector.address })).rejects.toThrow(
      /cannot receive OTLP at 127\.0\.0\.1:\d+: .*EADDRINUSE.*receivers\.otlp\.http\.endpoint/,
    );
  });
});

import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_COLLECTOR_LIMITS } from '../../../collector/limits.ts';
import { lengthField, requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { attribute, jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { readAll, type Answer, post, protobuf } from '../../support/collector/otlp-post.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

const MIB = 1024 * 1024;
let collector: TestCollector;

afterEach(() => collector.stop());

async function start(options: Parameters<typeof testCollector>[0] = {}) {
  const started = await testCollector(options);
  collector = started.collector;
  return started;
}

/** The answer to a request that is fine, beside or after the hostile ones. */
async function goodRequest(): Promise<number> {
  return (await post(collector.address, { body: traceRequest([jsonSpan()]) })).status;
}

/** With limits so short that a busy machine may be late with a request that is fine. */
async function takesRequests(): Promise<void> {
  await until(async () => (await goodRequest().catch(() => 0)) === 200);
}

function* forever(chunk: Buffer): Generator<Buffer> {
  for (;;) {
    yield chunk;
  }
}

function socketTo(): Socket {
  const socket = connect(collector.address.port, collector.address.host);
  socket.on('error', () => undefined);
  return socket;
}

const HEAD = 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

describe('size', () => {
  it('above 64 MiB is refused: announced, endless, and after decompression', async () => {
    await start();
    const announced = await post(
      collector.address,
      protobuf(Buffer.alloc(0), { 'content-length': String(64 * MIB + 1) }),
    );
    expect(announced.status).toBe(413);
    const endless = Readable.from(forever(Buffer.alloc(MIB)));
    expect((await post(collector.address, { ...protobuf(Buffer.alloc(0)), body: endless })).status).toBe(413);
    for (const [encoding, compress] of [['gzip', gzipSync] as const, ['zstd', zstdCompressSync] as const]) {
      const bomb = compress(Buffer.alloc(64 * MIB + 1));
      const answer = await post(collector.address, protobuf(bomb, { 'content-encoding': encoding }));
      expect([encoding, answer.status]).toEqual([encoding, 413]);
    }
    expect(await goodRequest()).toBe(200);
    expect(collector.stats().heldBytes).toBe(0);
  });

  it('of exactly 64 MiB after decompression is read', async () => {
    await start();
    const filler = Buffer.alloc(64 * MIB - 6);
    const body = lengthField(100, filler).subarray(0, 64 * MIB);
    const answer = await post(collector.address, protobuf(gzipSync(body), { 'content-encoding': 'gzip' }));
    expect([body.length, answer.status]).toEqual([64 * MIB, 200]);
  });

  it('in many bombs at once stays within the memory limit', async () => {
    await start();
    const bomb = gzipSync(Buffer.alloc(512 * MIB), { level: 9 });
    const lying = Buffer.from(bomb);
    lying.writeUInt32LE(1_000, lying.length - 4);
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    const answers: Answer[] = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        post(collector.address, protobuf(i % 2 === 0 ? bomb : lying, { 'content-encoding': 'gzip' })),
      ),
    );
    clearInterval(watch);
    expect(answers.filter(({ status }) => status !== 413 && status !== 429)).toEqual([]);
    // 40 requests of 512 MiB: at most the 256 MiB of the limiter, the bombs themselves and what the collector of garbage is late with.
    expect((peak - before) / MIB).toBeLessThan(600);
    expect(collector.stats().heldBytes).toBe(0);
    expect(await goodRequest()).toBe(200);
  });

  it('of bytes in flight is bounded: further requests get 429 and may come again', async () => {
    const { sink } = await start({ limits: { maxInFlightBytes: 4 * MIB, batchAgeMs: 1 } });
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    sink.before = () => held;
    const large = (): Promise<Answer> =>
      post(collector.address, { body: traceRequest([jsonSpan({ name: 'x'.repeat(MIB) })]) });
    const first = large();
    await until(() => collector.stats().pendingRowBytes > MIB);
    const refused = await Promise.all([large(), large(), large()]);
    const statuses = refused.map((answer) => answer.status);
    expect(statuses).toContain(429);
    expect(refused.find((answer) => answer.status === 429)?.headers['retry-after']).toBe('1');
    release();
    expect((await first).status).toBe(200);
    await until(() => collector.stats().heldBytes === 0);
    expect(await goodRequest()).toBe(200);
  });

  it('of rows counts until the store has them, also when their sender was told 503 before: others get 429', async () => {
    const { sink } = await start({
      limits: { maxInFlightBytes: 4 * MIB, batchAgeMs: 1, answerWithinMs: 50 },
    });
    const store = Promise.withResolvers<void>();
    sink.before = () => store.promise;
    const large = (): Promise<Answer> =>
      post(collector.address, protobuf(requestBytes(traceRequest([jsonSpan({ name: 'x'.repeat(MIB) })]))));
    expect((await large()).status).toBe(503);
    expect(collector.stats().heldBytes).toBeGreaterThan(MIB);
    expect((await large()).status).toBe(503);
    expect((await large()).status).toBe(429);
    store.resolve();
    await until(() => collector.stats().heldBytes === 0);
    expect(await goodRequest()).toBe(200);
  });
});

describe('shape', () => {
  it('100,000 levels deep, as JSON brackets, JSON values and protobuf values, is no crash', async () => {
    await start();
    const depth = 100_000;
    const deep = `${'{"arrayValue":{"values":['.repeat(depth)}{}${']}}'.repeat(depth)}`;
    const value = JSON.stringify(traceRequest([jsonSpan({ attributes: [{ key: 'a', value: 'HERE' }] })]));
    const json = await post(collector.address, { body: Buffer.from(value.replace('"HERE"', deep)) });
    expect(json.status).toBe(200);
    expect(json.body).toContain('nested deeper than 64 levels');
    const brackets = await post(collector.address, { body: Buffer.from('['.repeat(depth)) });
    expect(brackets.status).toBe(400);
    let nested: Uint8Array = Buffer.alloc(0);
    for (let i = 0; i < 2_000; i++) {
      nested = lengthField(5, lengthField(1, nested));
    }
    const span = Buffer.concat([
      lengthField(1, Buffer.alloc(16, 1)),
      lengthField(2, Buffer.alloc(8, 1)),
      lengthField(9, Buffer.concat([lengthField(1, [0x61]), lengthField(2, nested)])),
    ]);
    const proto = await post(
      collector.address,
      protobuf(lengthField(1, lengthField(2, lengthField(2, span)))),
    );
    expect(proto.body).toContain('nested deeper than 64 levels');
    expect(await goodRequest()).toBe(200);
  });

  it('with keys that name an object’s insides and texts of every kind is kept as it is', async () => {
    const { sink } = await start();
    const texts = [
      '\u0000',
      '\u202e\u200b',
      '<script>',
      '\u001b[31m',
      "'; DROP TABLE otel_traces; --",
      '=1+1',
    ];
    const keys = ['__proto__', 'constructor', 'toString', '', 'a.b c', '"`$'];
    const attributes = keys.map((key, i) => attribute(key, texts[i] ?? ''));
    await post(collector.address, { body: traceRequest([jsonSpan({ attributes })]) });
    await post(collector.address, protobuf(requestBytes(traceRequest([jsonSpan({ attributes })]))));
    const expected = keys.map((key, i) => [key, texts[i]]);
    expect(sink.rows().map((row) => row['SpanAttributes'])).toEqual([expected, expected]);
  });
});

describe('senders that take their time', () => {
  it.each([
    ['saying nothing', '', ''],
    ['over the headers', 'POST /v1/traces HTTP/1.1\r\nHost:', 'x'],
    ['over the body', `${HEAD}Content-Length: 1000\r\n\r\n{`, ' '],
    ['over the chunks of a body', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, '1\r\n \r\n'],
  ])('%s are cut off, and others are served meanwhile: 408', async (_, beginning, drop) => {
    await start({ limits: { headersTimeoutMs: 200, requestTimeoutMs: 400, timeoutCheckMs: 50 } });
    const socket = socketTo();
    socket.write(beginning);
    const drip = setInterval(() => socket.write(drop), 50);
    const answer = readAll(socket);
    await takesRequests();
    expect((await answer).slice(0, 12)).toBe('HTTP/1.1 408');
    clearInterval(drip);
    await until(() => collector.stats().heldBytes === 0);
    await takesRequests();
  });

  it('that break off within a body leave nothing behind', async () => {
    const { sink } = await start();
    for (let i = 0; i < 20; i++) {
      const socket = socketTo();
      socket.write(`${HEAD}Content-Length: 100000\r\n\r\n{"resourceSpans"`);
      await until(() => collector.count('spanscore.receiver.requests') > i);
      socket.destroy();
    }
    await until(() => collector.count('spanscore.receiver.requests.refused') === 20);
    expect(collector.stats().heldBytes).toBe(0);
    expect(sink.attempts).toHaveLength(0);
  });

  it('with 10,000 silent connections meet the limit of 1,000 for one address: each further one ends the oldest, and senders are served', async () => {
    // No connection may be closed for its silence before the last one has come.
    await start({ limits: { headersTimeoutMs: 600_000, requestTimeoutMs: 600_000 } });
    const ofOneAddress = DEFAULT_COLLECTOR_LIMITS.maxConnections / 2;
    const closed = new Set<Socket>();
    const sockets: Socket[] = [];
    const dropped = () => collector.count('spanscore.receiver.connections.dropped');
    while (sockets.length < 10_000) {
      const some = Array.from({ length: 500 }, socketTo);
      some.forEach((socket) => socket.resume().once('close', () => closed.add(socket)));
      sockets.push(...some);
      await Promise.all(some.map((socket) => once(socket, 'connect')));
      await until(() => dropped() >= sockets.length - ofOneAddress);
    }
    expect(dropped()).toBe(10_000 - ofOneAddress);
    await takesRequests();
    await until(() => closed.size >= dropped());
    for (const socket of sockets) {
      socket.destroy();
    }
    await takesRequests();
    expect(collector.stats().heldBytes).toBe(0);
  });
});

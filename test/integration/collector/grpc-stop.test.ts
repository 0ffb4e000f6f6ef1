import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { readServerTls } from '../../../src/config/tls-files.ts';
import { callOn, framed, grpcConnection, TRACES_METHOD } from '../../support/collector/grpc-call.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { testCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

it('a stop answers the gRPC calls that are under way, on every connection', async () => {
  const { collector, sink } = await testCollector({ grpc: { host: '127.0.0.1', port: 0 } });
  const store = Promise.withResolvers<void>();
  sink.before = () => store.promise;
  const sessions = [1, 2, 3].map(() => grpcConnection(collector.grpcAddress ?? collector.address));
  const body = framed(requestBytes(traceRequest([jsonSpan()])));
  const calls = sessions.flatMap((session) => [callOn(session, { body }), callOn(session, { body })]);
  await until(
    () => collector.count('spanscore.receiver.requests') === calls.length && sink.attempts.length > 0,
  );

  const stopped = collector.stop();
  // Whoever has been told to go is told so before the store answers.
  await until(() => sessions.every((session) => session.closed));
  store.resolve();

  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 0));
  await stopped;
});

const GRPC = 'application/grpc';

describe.each(['plain', 'TLS'])(
  'a stop, with a peer over %s that never closes its side of the connection',
  (kind) => {
    const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
    const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    /** HPACK without a table: POST, http, authority `a`, the path and the content type as they are. */
    const HEADERS = Buffer.concat([
      Buffer.from([0x83, 0x86, 0x01, 1, 0x61, 0x04, TRACES_METHOD.length]),
      Buffer.from(TRACES_METHOD),
      Buffer.from([0x0f, 0x10, GRPC.length]),
      Buffer.from(GRPC),
    ]);
    /** No END_STREAM: its message never comes. */
    const BEGUN_CALL = Buffer.concat([Buffer.from([0, 0, HEADERS.length, 1, 4, 0, 0, 0, 1]), HEADERS]);
    const GRACE_MS = 500;
    const fixture = (name: string): string => new URL(`../../fixtures/tls/${name}`, import.meta.url).pathname;

    async function stubbornPeer(frames: readonly Uint8Array[], stopGraceMs: number) {
      const files = { cert: fixture('server.pem'), key: fixture('server.key') };
      const tls = kind === 'TLS' ? readServerTls(files, 'tls') : undefined;
      const { collector } = await testCollector({
        grpc: { host: '127.0.0.1', port: 0, tls },
        limits: { stopGraceMs },
      });
      const address = { ...(collector.grpcAddress ?? collector.address), allowHalfOpen: true };
      const secure = { ca: readFileSync(fixture('ca.pem')), ALPNProtocols: ['h2'] };
      const socket = kind === 'TLS' ? connectTls({ ...address, ...secure }) : connect(address);
      socket.on('error', () => undefined);
      const heard = once(socket, 'data');
      socket.write(Buffer.concat([Buffer.from(PREFACE), EMPTY_SETTINGS, ...frames]));
      await heard;
      return { collector, socket };
    }

    it('does not wait for it where no call of it is under way', async () => {
      const { collector, socket } = await stubbornPeer([], 600_000);
      await expect(collector.stop()).resolves.toBeUndefined();
      socket.destroy();
    });

    it('waits for its call as long as the grace time, and no longer', async () => {
      const { collector, socket } = await stubbornPeer([BEGUN_CALL], GRACE_MS);
      await until(() => collector.count('spanscore.receiver.requests') === 1);
      const startedMs = performance.now();
      await collector.stop();
      // A timer may be a millisecond early.
      expect(performance.now() - startedMs).toBeGreaterThan(GRACE_MS - 50);
      socket.destroy();
    });
  },
);

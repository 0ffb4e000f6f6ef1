import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { callOn, framed, grpcConnection } from '../../support/grpc-call.ts';
import { requestBytes } from '../../support/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../support/otlp-requests.ts';
import { testCollector } from '../../support/test-collector.ts';
import { until } from '../../support/until.ts';

it('a stop answers the gRPC calls that are under way, on every connection', async () => {
  const { collector, sink } = await testCollector({ grpc: { host: '127.0.0.1', port: 0 } });
  const store = Promise.withResolvers<void>();
  sink.before = () => store.promise;
  const sessions = [1, 2, 3].map(() => grpcConnection(collector.grpcAddress ?? collector.address));
  const body = framed(requestBytes(traceRequest([jsonSpan()])));
  const calls = sessions.flatMap((session) => [callOn(session, { body }), callOn(session, { body })]);
  await until(() => collector.stats().counts.requests === calls.length && sink.attempts.length > 0);

  const stopped = collector.stop();
  // Whoever has been told to go is told so before the store answers.
  await until(() => sessions.every((session) => session.closed));
  store.resolve();

  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 0));
  await stopped;
});

describe('a stop, with a peer that never closes its side of the connection', () => {
  const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
  const EMPTY_SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  /** Indexed fields alone: POST, http, /. No END_STREAM: its message never comes. */
  const BEGUN_CALL = Buffer.from([0, 0, 3, 1, 4, 0, 0, 0, 1, 0x83, 0x86, 0x84]);

  async function stubbornPeer(frames: readonly Uint8Array[], stopGraceMs: number) {
    const { collector } = await testCollector({
      grpc: { host: '127.0.0.1', port: 0 },
      limits: { stopGraceMs },
    });
    const socket = connect({ ...(collector.grpcAddress ?? collector.address), allowHalfOpen: true });
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
    const { collector, socket } = await stubbornPeer([BEGUN_CALL], 300);
    await expect(collector.stop()).resolves.toBeUndefined();
    socket.destroy();
  });
});

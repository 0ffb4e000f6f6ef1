import { expect, it } from 'vitest';
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

import { afterEach, describe, expect, it } from 'vitest';
import { bearerTokens } from '../../../collector/receivers/receiver.ts';
import { StoreRejectedError } from '../../../src/domain/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { framed, grpcCall } from '../../support/collector/grpc-call.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };
const SENDER_A = 'sender-token-of-team-a-0123456789';
const SENDER_B = 'sender-token-of-team-b-0123456789';
const READER = 'reader-token-of-team-a-0123456789';
const UNKNOWN = 'nobodys-token-of-no-team-0123456789';

let collector: TestCollector;

afterEach(() => collector.stop());

async function start() {
  const lines: string[] = [];
  const started = await testCollector({
    grpc: LOCAL,
    log: createLog('debug', { destination: { write: (line) => void lines.push(line) } }),
    authenticate: bearerTokens([
      { name: 'team-a', token: SENDER_A, tenant: 'a', scopes: ['ingest'] },
      { name: 'team-b', token: SENDER_B, tenant: 'b', scopes: ['ingest', 'read'] },
      { name: 'dashboard', token: READER, tenant: 'a', scopes: ['read', 'admin'] },
    ]),
  });
  collector = started.collector;
  return { ...started, lines };
}

const body = () => requestBytes(traceRequest([jsonSpan()]));

/** HTTP and gRPC status of a request with this header. */
async function send(authorization?: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const http = await post(collector.address, protobuf(body(), headers));
  const grpc = await grpcCall(collector.grpcAddress ?? LOCAL, { headers, body: framed(body()) });
  return { http: http.status, grpc: grpc.status, said: `${http.body} ${grpc.message}` };
}

describe('several tokens', () => {
  it('let their senders in, each into its own tenant', async () => {
    const { sink } = await start();
    expect(await send(`Bearer ${SENDER_A}`)).toMatchObject({ http: 200, grpc: 0 });
    expect(await send(`bearer  ${SENDER_B}`)).toMatchObject({ http: 200, grpc: 0 });
    expect(sink.rows().map((row) => row['Tenant'])).toEqual(['a', 'a', 'b', 'b']);
  });

  it('without the scope ingest are refused with the name of the token: 403, PERMISSION_DENIED', async () => {
    const { sink } = await start();
    const refused = await send(`Bearer ${READER}`);
    expect(refused).toMatchObject({ http: 403, grpc: 7 });
    expect(refused.said).toContain('the bearer token dashboard lacks the scope ingest');
    expect(sink.attempts).toEqual([]);
  });

  it.each([
    ['none', undefined],
    ['another', `Bearer ${UNKNOWN}`],
    ['a beginning', `Bearer ${SENDER_A.slice(0, -1)}`],
    ['one with more behind it', `Bearer ${SENDER_A}x`],
    ['two', `Bearer ${SENDER_A} ${SENDER_B}`],
    ['another scheme', `Basic ${SENDER_A}`],
    ['an empty one', 'Bearer '],
  ])('that are not known let nobody send: %s: 401, UNAUTHENTICATED', async (_, authorization) => {
    const { sink } = await start();
    expect(await send(authorization)).toMatchObject({ http: 401, grpc: 16 });
    expect(sink.attempts).toEqual([]);
  });

  it('are never logged or sent back, for any error', async () => {
    const { sink, lines } = await start();
    sink.before = () => {
      throw new StoreRejectedError('refused');
    };
    const said: string[] = [];
    for (const token of [SENDER_A, READER, UNKNOWN]) {
      said.push((await send(`Bearer ${token}`)).said, (await send(token)).said);
    }
    const told = [...lines, ...said].join('\n');
    expect(lines.length).toBeGreaterThan(5);
    for (const token of [SENDER_A, READER, UNKNOWN]) {
      expect(told).not.toContain(token.slice(0, 12));
    }
  });
});

import { createRequire } from 'node:module';
import { toGrpcFailure } from '../../../collector/receivers/grpc-failure.ts';
import type { ReceiverDependencies } from '../../../collector/receivers/receiver.ts';
import { encodeExportResponse } from '../../../collector/otlp/reply.ts';
import { TRACES_METHOD } from '../../support/collector/grpc-call.ts';
import { installPeer, peerFile } from '../peer-packages.ts';

const ENTRY = '@grpc/grpc-js/build/src/index.js';
/** As in `otlp-grpc.ts`. */
const MAX_STREAMS = 128;
const WINDOW_BYTES = 1024 * 1024;

interface Call {
  readonly request: Buffer;
  readonly metadata: Metadata;
}
interface Metadata {
  getMap(): Readonly<Record<string, string>>;
  set(key: string, value: string | Buffer): void;
}
type Callback = (error: object | null, reply?: Buffer) => void;
interface Server {
  addService(
    definition: object,
    handlers: Readonly<Record<string, (call: Call, reply: Callback) => void>>,
  ): void;
  bindAsync(address: string, credentials: unknown, done: (error: Error | null, port: number) => void): void;
  forceShutdown(): void;
}
/** Used part of the library. */
interface Library {
  readonly Server: new (options: object) => Server;
  readonly ServerCredentials: { createInsecure(): unknown };
  readonly Metadata: new () => Metadata;
}

const asIs = (bytes: Buffer): Buffer => bytes;

/**
 * Starts the OTLP/gRPC receiver as it would be on `@grpc/grpc-js`: the same limits, as far as the library has them, and the same
 * handler behind it. The library cannot hold memory while a message comes: a lease holds it when it is there.
 */
export async function startGrpcByLibrary(
  deps: ReceiverDependencies,
): Promise<{ readonly port: number; stop(): void }> {
  installPeer(ENTRY);
  const library = createRequire(import.meta.url)(peerFile(ENTRY)) as Library;
  const { maxBodyBytes, keepAliveTimeoutMs } = deps.limits;
  const server = new library.Server({
    'grpc.max_receive_message_length': maxBodyBytes,
    'grpc.max_concurrent_streams': MAX_STREAMS,
    'grpc.max_connection_idle_ms': keepAliveTimeoutMs,
    'grpc-node.flow_control_window': WINDOW_BYTES,
  });
  const method = {
    path: TRACES_METHOD,
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs,
  };
  server.addService(
    { export: method },
    { export: (call, reply) => void handle(call, deps, library).then((bytes) => reply(null, bytes), reply) },
  );
  const port = await new Promise<number>((resolve, reject) => {
    const credentials = library.ServerCredentials.createInsecure();
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  return { port, stop: () => server.forceShutdown() };
}

/** Rejects with a status of the library. */
async function handle(
  { request: body, metadata }: Call,
  { authenticate, limiter, take, counter, limits }: ReceiverDependencies,
  { Metadata }: Library,
): Promise<Buffer> {
  const lease = limiter.lease();
  const startedMs = performance.now();
  counter.add('requests');
  try {
    const found = authenticate(metadata.getMap());
    const tenant = 'tenant' in found ? found.tenant : '';
    lease.hold(body.length);
    const origin = { tenant, source: 'otlp-grpc' };
    const result = await take({ signal: 'traces', encoding: 'protobuf', origin, body }, lease);
    counter.measure('request_ms', performance.now() - startedMs, { transport: 'grpc' });
    return encodeExportResponse('traces', 'protobuf', result);
  } catch (error) {
    const { status, trailers } = toGrpcFailure(error, limits.retryAfterMs);
    const details = new Metadata();
    Object.entries(trailers).forEach(([key, value]) => details.set(key, value));
    // oxlint-disable-next-line typescript/only-throw-error
    throw { code: status, details: trailers['grpc-message'], metadata: details };
  } finally {
    lease.release();
  }
}

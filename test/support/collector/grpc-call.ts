import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type Settings } from 'node:http2';
import type { Address } from './otlp-post.ts';

export const TRACES_METHOD = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
export const LOGS_METHOD = '/opentelemetry.proto.collector.logs.v1.LogsService/Export';

export interface GrpcAnswer {
  readonly http: number;
  /** gRPC status; NaN when the answer has none. */
  readonly status: number;
  readonly message: string;
  /** Seconds and nanoseconds of a `RetryInfo`, or undefined. */
  readonly retry: { readonly seconds: number; readonly nanos: number } | undefined;
  readonly body: Buffer;
}

export interface GrpcCall {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole framed body. When undefined, the request is not ended. */
  readonly body?: Uint8Array;
}

/** Adds gRPC's message prefix. */
export function framed(message: Uint8Array, compressed = false): Buffer {
  const prefix = Buffer.from([compressed ? 1 : 0, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Opens a connection. Its failures appear in its calls. */
export function grpcConnection(address: Address, settings: Settings = {}): ClientHttp2Session {
  const session = connect(`http://${address.host}:${address.port}`, { settings });
  session.on('error', () => undefined);
  return session;
}

/** Makes a call on a connection. Written by hand, so tests can make calls that no library makes. */
export function callOn(session: ClientHttp2Session, call: GrpcCall): Promise<GrpcAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': call.path ?? TRACES_METHOD,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...call.headers,
    });
    const chunks: Buffer[] = [];
    let head: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on('response', (headers) => (head = headers));
    stream.on('trailers', (headers) => (trailers = headers));
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('close', () => resolve(readAnswer({ ...head, ...trailers }, Buffer.concat(chunks))));
    if (call.body === undefined) {
      stream.write(Buffer.alloc(1));
    } else {
      stream.end(call.body);
    }
  });
}

/** Makes a call on a new connection. */
export async function grpcCall(address: Address, call: GrpcCall): Promise<GrpcAnswer> {
  const session = grpcConnection(address);
  try {
    return await callOn(session, call);
  } finally {
    session.destroy();
  }
}

function readAnswer(headers: IncomingHttpHeaders, body: Buffer): GrpcAnswer {
  const details = headers['grpc-status-details-bin'];
  return {
    http: Number(headers[':status']),
    status: Number(headers['grpc-status'] ?? Number.NaN),
    message: decodeURIComponent(String(headers['grpc-message'] ?? '')),
    retry: typeof details === 'string' ? buildRetry(Buffer.from(details, 'base64')) : undefined,
    body: body.subarray(5),
  };
}

/**
 * Reads the duration of a `RetryInfo`. It follows the type's name: tag, length, then tag and length of the duration itself.
 */
function buildRetry(details: Buffer): { seconds: number; nanos: number } {
  const type = 'type.googleapis.com/google.rpc.RetryInfo';
  let at = details.indexOf(type) + type.length + 4;
  const varint = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = details[at++] ?? 0;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) {
        return value;
      }
    }
  };
  at++;
  const seconds = varint();
  at++;
  return { seconds, nanos: varint() };
}

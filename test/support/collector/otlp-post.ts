import { request } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface Post {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON value is sent as JSON text, bytes without a change, a stream in chunks until an answer arrives. */
  readonly body?: object;
}

/** Sends one request on a new connection. Accepts an answer that arrives before the whole body is sent. */
export function post(address: Address, options: Post = {}): Promise<Answer> {
  const { path = '/v1/traces', method = 'POST', headers = {}, body = {} } = options;
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: address.host,
        port: address.port,
        path,
        method,
        agent: false,
        headers: { 'content-type': 'application/json', ...headers },
      },
      (response) => {
        textOf(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
          reject,
        );
      },
    );
    outgoing.on('error', reject);
    if (body instanceof Readable) {
      outgoing.on('response', () => body.destroy());
      body.on('close', () => outgoing.end()).pipe(outgoing);
    } else {
      outgoing.end(body instanceof Uint8Array ? body : JSON.stringify(body));
    }
  });
}

/**
 * Reads everything from a connection until it is closed. A reset counts as closed: it happens when the peer has not read
 * all of our bytes.
 */
export function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
  return new Promise((resolve) => socket.once('close', () => resolve(Buffer.concat(chunks).toString())));
}

/** Builds a protobuf request. */
export function protobuf(body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Post {
  return { body, headers: { 'content-type': 'application/x-protobuf', ...headers } };
}

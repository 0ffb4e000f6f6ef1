import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';

/** Fault of a server: it answers with a status in place of the real reply, or later than it would. */
export type Fault = { readonly status: number; readonly retryAfterS?: number } | { readonly delayMs: number };

/** Server of the test in front of a real server. */
export interface FaultyProxy {
  readonly url: string;
  /** Number of requests so far. */
  count(): number;
  /** Has this fault from now on; undefined: none. */
  fail(fault: Fault | undefined): void;
  close(): Promise<void>;
}

/** Starts a proxy on loopback in front of the server at `target`. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  let requests = 0;
  let fault: Fault | undefined;
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    requests += 1;
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
    const body = await buffer(request);
    if (fault !== undefined && 'status' in fault) {
      const { status, retryAfterS } = fault;
      response.writeHead(status, retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) });
      response.end('a fault of the test');
      return;
    }
    const delayMs = fault?.delayMs ?? 0;
    const reply = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
    });
    const text = await reply.text();
    // The real server has done what it was asked for: a sender that is killed now does not know.
    await sleep(delayMs);
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? 'text/plain' });
    response.end(text);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => requests,
    fail: (next) => {
      fault = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HttpReceiver {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** Sets the answer to the next requests: a status, no answer, or a function of the request. */
  answer(next: Reply | ((request: ReceivedRequest) => Reply | Promise<Reply>)): void;
  close(): Promise<void>;
}

/** A status. `never` leaves the client without an answer. */
type Reply = number | 'never';

/** Starts a receiver on loopback, by default on any free port. It records POST requests and answers with a status. */
export async function startHttpReceiver(port = 0): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = [];
  let answer: Reply | ((request: ReceivedRequest) => Reply | Promise<Reply>) = 200;
  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request).catch(() => undefined);
    if (body === undefined) {
      // The client closed the connection before it sent the whole request.
      return;
    }
    const got = { path: request.url ?? '', headers: request.headers, body };
    requests.push(got);
    const status = typeof answer === 'function' ? await answer(got) : answer;
    if (status !== 'never') {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end('{}');
    }
  }
  const server = createServer((request, response) => void reply(request, response));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (next) => {
      answer = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HttpReceiver {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** Sets the answer to the next requests: a status, no answer, or a function of the request. */
  answer(next: Reply | ((request: ReceivedRequest) => Reply)): void;
  close(): Promise<void>;
}

/** A status. `never` leaves the client without an answer. */
type Reply = number | 'never';

/** Starts a receiver on loopback. It records POST requests and answers with a status. */
export async function startHttpReceiver(): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = [];
  let answer: Reply | ((request: ReceivedRequest) => Reply) = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const got = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      requests.push(got);
      const reply = typeof answer === 'function' ? answer(got) : answer;
      if (reply !== 'never') {
        response.writeHead(reply, { 'content-type': 'application/json' });
        response.end('{}');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
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

import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RequestError } from '@hono/node-server';
import { readErrorMessage } from '../domain/errors.ts';
import type { Log } from '../telemetry/log.ts';
import { PROBLEM_HEADERS, problemJson, type Problem } from './problem.ts';

const BAD: Problem = { status: 400, title: 'Bad request', detail: 'this is no request of HTTP/1.1' };

const FAILED: Problem = {
  status: 500,
  title: 'Internal error',
  detail: 'The log of spanscore has the reason.',
};

const FULL: Problem = {
  status: 503,
  title: 'Too many connections',
  detail:
    'all connections of this address or of the API are in use; the last places are for /healthz, /readyz and /metrics',
};

/** Problems of requests that Node.js does not read to their end, by the code of its error. */
const PROBLEMS: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    title: 'Too large',
    detail: 'the address and the headers are longer than 16 KiB; ask for less at a time',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    title: 'Took too long',
    detail: 'the request did not arrive within the limit of its time',
  },
};

/** Time for which the rest of such a request is read, so that its sender sees the answer, milliseconds. */
const REST_MS = 1_000;

/** Answers a request that Node.js cannot read, and closes its connection. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const problem = PROBLEMS[error.code ?? ''] ?? BAD;
  const body = problemJson(problem);
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
      ...Object.entries(PROBLEM_HEADERS).map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      `\r\n${body}`,
    ].join('\r\n'),
  );
  socket.resume();
  socket.setTimeout(REST_MS, () => socket.destroy());
}

/** Refuses a request on a connection that is kept for probes, and closes the connection. */
export function answerFull(response: ServerResponse): void {
  response
    .writeHead(FULL.status, { ...PROBLEM_HEADERS, 'retry-after': '5', connection: 'close' })
    .end(problemJson(FULL));
}

/** Answers a request whose path and `Host` make no address. Any other error outside of the routes is logged, and becomes a 500. */
export function answerUnaddressed(error: unknown, log: Log): Response {
  const isOfRequest = error instanceof RequestError;
  if (!isOfRequest) {
    log.error('a request of the API failed outside of its routes', { error });
  }
  const problem = isOfRequest
    ? { ...BAD, detail: `the path and the header Host make no address: ${readErrorMessage(error)}` }
    : FAILED;
  return new Response(problemJson(problem), { status: problem.status, headers: PROBLEM_HEADERS });
}

/** A process of its own that sends requests, so that their cost is not counted as the collector's. */
import { Agent, request } from 'node:http';
import type { ClientHttp2Session } from 'node:http2';
import { callOn, framed, grpcConnection } from '../support/collector/grpc-call.ts';
import { benchRequests, gzipAll } from './bench-requests.ts';

/** Road of the requests. Each has 100 spans and is gzipped. */
export type Road = 'HTTP protobuf' | 'HTTP JSON' | 'gRPC';

export interface LoadOrder {
  readonly road: Road;
  readonly port: number;
  /** Number of requests, taken in turn from the prepared ones. */
  readonly requests: number;
  readonly concurrency: number;
  /** Further headers of a request over HTTP. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface LoadReport {
  readonly tookMs: number;
  /** Requests by status: 200, or 0 for gRPC. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Ascending. */
  readonly latenciesMs: readonly number[];
}

/** Calls of one gRPC client share a connection, as those of an exporter do. */
const CALLS_PER_CONNECTION = 24;

const different = Number(process.argv[2]);
const protobuf = gzipAll(benchRequests(different));
const json = gzipAll(benchRequests(different, 'json'));
const grpc = protobuf.map((body) => framed(body, true));
const agent = new Agent({ keepAlive: true });

type Send = (turn: number) => Promise<string>;

function overHttp(
  { port, headers: further }: LoadOrder,
  bodies: readonly Buffer[],
  contentType: string,
): Send {
  return (turn) => {
    const body = bodies[turn % bodies.length] as Buffer;
    const headers = {
      'content-type': contentType,
      'content-encoding': 'gzip',
      'content-length': body.length,
      ...further,
    };
    return new Promise((resolve) => {
      const outgoing = request(
        { host: '127.0.0.1', port, path: '/v1/traces', method: 'POST', agent, headers },
        (response) => {
          response.resume().on('end', () => resolve(String(response.statusCode)));
        },
      );
      outgoing.on('error', (error) => resolve(error.message));
      outgoing.end(body);
    });
  };
}

function overGrpc(sessions: readonly ClientHttp2Session[]): Send {
  const headers = { 'grpc-encoding': 'gzip' };
  return async (turn) => {
    const body = grpc[turn % grpc.length] as Buffer;
    const session = sessions[turn % sessions.length] as ClientHttp2Session;
    const { status, message } = await callOn(session, { body, headers });
    return status === 0 ? '200' : `${status} ${message}`;
  };
}

async function run(order: LoadOrder): Promise<LoadReport> {
  const { road } = order;
  if (road === 'HTTP JSON') {
    return sendAll(order, overHttp(order, json, 'application/json'));
  }
  if (road === 'HTTP protobuf') {
    return sendAll(order, overHttp(order, protobuf, 'application/x-protobuf'));
  }
  const connections = Math.ceil(order.concurrency / CALLS_PER_CONNECTION);
  const sessions = Array.from({ length: connections }, () =>
    grpcConnection({ host: '127.0.0.1', port: order.port }),
  );
  const report = await sendAll(order, overGrpc(sessions));
  sessions.forEach((session) => session.destroy());
  return report;
}

async function sendAll(order: LoadOrder, send: Send): Promise<LoadReport> {
  const statuses: Record<string, number> = {};
  const latenciesMs: number[] = [];
  let next = 0;
  const startedMs = performance.now();
  const sender = async (): Promise<void> => {
    while (next < order.requests) {
      const sentMs = performance.now();
      const status = await send(next++);
      latenciesMs.push(performance.now() - sentMs);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: order.concurrency }, sender));
  const tookMs = performance.now() - startedMs;
  return { tookMs, statuses, latenciesMs: latenciesMs.sort((a, b) => a - b) };
}

process.on('message', (order: LoadOrder) => {
  void run(order).then((report) => process.send?.(report));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

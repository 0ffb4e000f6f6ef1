/** A process of its own that posts requests, so that their cost is not counted as the collector's. */
import { Agent, request } from 'node:http';
import { benchRequests, gzipAll } from './bench-requests.ts';

export interface LoadOrder {
  readonly port: number;
  /** How many requests, taken in turn from the prepared ones. */
  readonly requests: number;
  readonly concurrency: number;
}

export interface LoadReport {
  readonly tookMs: number;
  /** Requests by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Ascending. */
  readonly latenciesMs: readonly number[];
}

const bodies = gzipAll(benchRequests(Number(process.argv[2])));
const agent = new Agent({ keepAlive: true });

function send(port: number, body: Buffer): Promise<string> {
  const headers = {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'gzip',
    'content-length': body.length,
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
}

async function run(order: LoadOrder): Promise<LoadReport> {
  const statuses: Record<string, number> = {};
  const latenciesMs: number[] = [];
  let next = 0;
  const startedMs = performance.now();
  const sender = async (): Promise<void> => {
    while (next < order.requests) {
      const body = bodies[next++ % bodies.length] as Buffer;
      const sentMs = performance.now();
      const status = await send(order.port, body);
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

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** An OTLP/HTTP request as an emitter sent it, decompressed. */
export interface ReceivedOtlp {
  readonly signal: 'traces' | 'logs';
  readonly isJson: boolean;
  readonly body: Buffer;
}

/** Receiver that keeps the requests in order. */
export interface OtlpRecorder {
  readonly url: string;
  /** Returns the requests since the last call. */
  take(): ReceivedOtlp[];
  close(): Promise<void>;
}

/** Starts a receiver on loopback. It takes OTLP under any path, so that an SDK may send to its maker's own. */
export async function startOtlpRecorder(): Promise<OtlpRecorder> {
  let received: ReceivedOtlp[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, signal] = /\/v1\/(traces|logs)$/.exec(request.url ?? '') ?? [];
    const sent = await buffer(request);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    const isJson = request.headers['content-type']?.includes('json') === true;
    if (signal === 'traces' || signal === 'logs') {
      received.push({ signal, isJson, body });
    }
    response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'application/json' });
    response.end(isJson ? '{}' : '');
  }
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => {
      const taken = received;
      received = [];
      return taken;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

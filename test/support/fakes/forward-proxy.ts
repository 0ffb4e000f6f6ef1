import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

export interface ForwardProxy {
  readonly url: string;
  /** Each request that came, as `POST http://name/path` or `CONNECT name:443`. */
  readonly seen: string[];
  /** Value of `proxy-authorization` of the last request. */
  authorization(): string | undefined;
  close(): Promise<void>;
}

/** Starts a forward proxy on loopback. It alone knows the names in `hosts`: each leads to a port of loopback. */
export async function startForwardProxy(hosts: Readonly<Record<string, number>>): Promise<ForwardProxy> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  let authorization: string | undefined;

  function note(request: IncomingMessage): void {
    seen.push(`${request.method} ${request.url}`);
    authorization = request.headers['proxy-authorization'];
  }

  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    note(request);
    const target = URL.canParse(request.url ?? '') ? new URL(request.url ?? '') : undefined;
    const port = hosts[target?.hostname ?? ''];
    if (target === undefined || port === undefined) {
      response.writeHead(502).end('unknown name');
      return;
    }
    const options = { port, method: request.method, path: target.pathname, headers: request.headers };
    const onward = send({ host: '127.0.0.1', ...options }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.on('connect', (request: IncomingMessage, client: Socket) => {
    note(request);
    const port = hosts[request.url?.split(':')[0] ?? ''];
    if (port === undefined) {
      client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
      return;
    }
    const onward = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.pipe(client).pipe(onward);
    });
    for (const socket of [client, onward]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    authorization: () => authorization,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        sockets.forEach((socket) => socket.destroy());
      }),
  };
}

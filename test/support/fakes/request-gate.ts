import { Agent, createServer, type IncomingMessage, request as ask, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A complete request that arrived at a gate. */
export interface GatedRequest {
  readonly method: string;
  /** Path with the query. */
  readonly path: string;
  readonly body: string;
}

/** Answer of a gate in place of the server. */
export interface GateAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Decides when to forward a request, by a call of `forward`. Returns false to leave the client without an answer, or an answer of its
 * own.
 */
export type Gatekeeper = (
  request: GatedRequest,
  forward: () => Promise<void>,
) => Promise<boolean | GateAnswer>;

/** Proxy on loopback in front of an HTTP server. */
export interface RequestGate {
  readonly url: string;
  close(): Promise<void>;
}

interface Reply {
  readonly message: IncomingMessage;
  readonly body: Buffer;
}

/** Starts a gate. Forwards a request or an answer only when it has arrived completely. */
export async function startRequestGate(target: string, keeper: Gatekeeper): Promise<RequestGate> {
  const agent = new Agent({ keepAlive: true });

  async function forward(from: IncomingMessage, body: Buffer): Promise<Reply> {
    const { method, headers } = from;
    const { 'transfer-encoding': _, ...kept } = headers;
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      ask(
        new URL(from.url ?? '', target),
        { method, agent, headers: { ...kept, 'content-length': body.length } },
        resolve,
      )
        .once('error', reject)
        .end(body);
    });
    return { message, body: await readBody(message) };
  }

  async function pass(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const body = await readBody(from);
    let reply: Reply | undefined;
    const request = { method: from.method ?? '', path: from.url ?? '', body: body.toString() };
    const answer = await keeper(request, async () => {
      reply = await forward(from, body);
    });
    if (typeof answer === 'object') {
      to.writeHead(answer.status, answer.headers).end(answer.body);
      return;
    }
    if (!answer || reply === undefined) {
      to.destroy();
      return;
    }
    const { 'transfer-encoding': _, connection: __, ...headers } = reply.message.headers;
    to.writeHead(reply.message.statusCode ?? 502, { ...headers, 'content-length': reply.body.length });
    to.end(reply.body);
  }

  const server = createServer((from, to) => {
    // Either side may be killed at any moment. The other side then gets a closed connection.
    pass(from, to).catch(() => to.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        agent.destroy();
      }),
  };
}

async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

import {
  createServer,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

/** Statement that a process sent to the store. */
export interface TimedQuery {
  readonly sql: string;
  /** From the whole statement to the end of its reply, milliseconds. */
  readonly tookMs: number;
  readonly replyBytes: number;
  /** Sends the statement to the store again, and waits for the end of its reply. */
  repeat(): Promise<void>;
}

/** Address of a store that passes statements on, and tells what they took. */
export interface QueryTimer {
  readonly url: string;
  /** Returns the statements since the last call. */
  take(): TimedQuery[];
  stop(): Promise<void>;
}

/** Starts a proxy in front of a store: the times are those that the client waits, queue and transfer included. */
export async function startQueryTimer(storeUrl: string): Promise<QueryTimer> {
  let found: TimedQuery[] = [];
  const pass = async (asked: IncomingMessage, answer: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) {
      chunks.push(chunk as Buffer);
    }
    const body = Buffer.concat(chunks);
    const sentMs = performance.now();
    const { method, headers } = asked;
    const passed = request(new URL(asked.url ?? '/', storeUrl), { method, headers }, (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.headers);
      let replyBytes = 0;
      reply.on('data', (chunk: Buffer) => (replyBytes += chunk.length));
      reply.on('end', () => {
        const tookMs = performance.now() - sentMs;
        const repeat = () => send(new URL(asked.url ?? '/', storeUrl), { method, headers, body });
        found.push({ sql: readSql(asked, body), tookMs, replyBytes, repeat });
      });
      reply.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    passed.end(body);
  };
  const server = createServer((asked, answer) => void pass(asked, answer));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    take: () => {
      const taken = found;
      found = [];
      return taken;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

function send(
  url: URL,
  { body, ...options }: { method: string | undefined; headers: IncomingHttpHeaders; body: Buffer },
): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, options, (reply) => reply.resume().on('end', resolve).on('error', reject))
      .on('error', reject)
      .end(body);
  });
}

/** Reads the statement of a request: its body, or the part `query` of a form with large parameters. */
function readSql({ headers }: IncomingMessage, body: Buffer): string {
  const text = new StringDecoder().write(body);
  return headers['content-type']?.startsWith('multipart/') === true
    ? (/name="query"\r\n(?:[^\r\n]+\r\n)*\r\n(.*?)\r\n--/su.exec(text)?.[1] ?? text)
    : text;
}

/** Names a statement by its tables, and by the first column that it asks for. */
export function nameQuery(sql: string): string {
  const tables = [...sql.matchAll(/\b(?:FROM|JOIN)\s+([a-z_.]+)\b/gu)].map(([, table = '']) => table);
  const start = sql.replaceAll(/\s+/gu, ' ').trim().slice(0, NAME_LENGTH).replaceAll('|', '/');
  return `${[...new Set(tables)].join(', ')}: \`${start}…\``;
}

const NAME_LENGTH = 60;

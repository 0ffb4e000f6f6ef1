import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends the head of a request, and never its body. Returns the reply of a server that does not wait for the body. */
export function sendHead(
  port: number,
  { method, path, headers }: RawRequest,
): Promise<{ readonly status: number; readonly body: unknown }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers }, (reply) => {
      let received = '';
      reply.setEncoding('utf8').on('data', (part: string) => (received += part));
      reply.once('end', () => {
        sent.destroy();
        resolve({ status: reply.statusCode ?? 0, body: JSON.parse(received) as unknown });
      });
    });
    sent.once('error', reject);
    sent.flushHeaders();
  });
}

/** Sends a request as it is, also with headers that `fetch` does not allow: `Host`, `Origin`, `Sec-Fetch-Site`. */
export async function sendRaw(
  port: number,
  { method, path, headers, body }: RawRequest & { readonly body?: unknown },
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }> {
  const sent = request({ host: '127.0.0.1', port, method, path, headers: { ...headers } });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: reply.statusCode ?? 0, headers: reply.headers, text: await text(reply) };
}

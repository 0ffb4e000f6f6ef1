import { request } from 'node:http';

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
      let text = '';
      reply.setEncoding('utf8').on('data', (part: string) => (text += part));
      reply.once('end', () => {
        sent.destroy();
        resolve({ status: reply.statusCode ?? 0, body: JSON.parse(text) as unknown });
      });
    });
    sent.once('error', reject);
    sent.flushHeaders();
  });
}

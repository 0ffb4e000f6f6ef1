import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readErrorMessage } from '../domain/errors.ts';
import type { StartedPart } from './parts.ts';

/** Address of the local reload, and the secret that proves that its sender can read the address file. */
export interface LocalReload {
  readonly url: string;
  readonly secret: string;
}

/**
 * Listens on loopback for `spanscore reload`, in every process with a configuration file: one without the role `api` has no routes, and a
 * certificate of the API need not be of this machine. The secret stands in the address file, which its owner alone can read.
 */
export async function startLocalReload(
  reload: () => Promise<object>,
): Promise<{ readonly address: LocalReload; readonly part: StartedPart }> {
  const secret = randomBytes(32).toString('base64url');
  const proof = Buffer.from(`Bearer ${secret}`);
  const server = createServer((request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    request.resume();
    const sent = Buffer.from(request.headers.authorization ?? '');
    if (request.method !== 'POST' || sent.length !== proof.length || !timingSafeEqual(sent, proof)) {
      answer(403, { error: 'the secret of serve.json is required' });
      return;
    }
    reload().then(
      (body) => answer(200, body),
      (error: unknown) => answer(503, { error: readErrorMessage(error) }),
    );
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(0, '127.0.0.1', resolve);
  await listening;
  server.unref();
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.close();
    server.closeAllConnections();
  };
  return {
    address: { url: `http://127.0.0.1:${port}/`, secret },
    part: { name: 'local reload', stage: 'address', stop },
  };
}

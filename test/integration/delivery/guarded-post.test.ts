import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressPolicy } from '../../../src/config/addresses/private-addresses.ts';
import { createGuardedPost } from '../../../src/delivery/http/guarded-post.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';

const never = new AbortController().signal;
const loopback = { permits: addressPolicy(['127.0.0.0/8']), timeoutMs: 30_000 };
const message = { body: '{"a":"ü"}', headers: { 'content-type': 'application/json', 'webhook-id': '1' } };
let receiver: HttpReceiver;

beforeAll(async () => {
  receiver = await startHttpReceiver();
});
afterAll(() => receiver.close());

/** A server of a behaviour that a well-behaved receiver does not have. */
async function startServer(listener: Parameters<typeof createServer>[1]): Promise<Server & { url: string }> {
  const server = createServer(listener as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(server, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function end(server: Server): void {
  server.close();
  server.closeAllConnections();
}

describe('a guarded post', () => {
  it('sends body and headers, and returns the status', async () => {
    const reply = await createGuardedPost(loopback)({ url: `${receiver.url}/x?y=1`, ...message }, never);
    expect(reply).toEqual({ status: 200, retryAfterMs: undefined, text: '' });
    expect(receiver.requests.at(-1)).toMatchObject({
      path: '/x?y=1',
      body: message.body,
      headers: { 'webhook-id': '1', 'content-length': '10', 'content-type': 'application/json' },
    });
  });

  it('returns the time to wait, and the beginning of the reply', async () => {
    const server = await startServer((_request, response) => {
      response.writeHead(429, { 'retry-after': '7' }).end('x'.repeat(5_000));
    });
    const reply = await createGuardedPost(loopback)({ url: server.url, ...message }, never);
    expect(reply).toEqual({ status: 429, retryAfterMs: 7_000, text: 'x'.repeat(1_024) });
    end(server);
  });

  it('follows no redirect, wherever it leads', async () => {
    const server = await startServer((_request, response) => {
      response.writeHead(307, { location: `${receiver.url}/inside` }).end();
    });
    const before = receiver.requests.length;
    expect((await createGuardedPost(loopback)({ url: server.url, ...message }, never)).status).toBe(307);
    expect(receiver.requests).toHaveLength(before);
    end(server);
  });

  it('never connects to a private address, written or by a name', async () => {
    const post = createGuardedPost(
      { permits: addressPolicy([]), timeoutMs: 5_000 },
      { now: Date.now, resolve: async () => [{ address: '169.254.169.254', family: 4 }] },
    );
    const before = receiver.requests.length;
    await expect(post({ url: receiver.url, ...message }, never)).rejects.toMatchObject({
      code: 'delivery_failed',
      retryable: true,
      message: expect.stringMatching(/127\.0\.0\.1 is a private address; add it to alerts\.allowAddresses/),
    });
    await expect(post({ url: 'http://hooks.example/secret', ...message }, never)).rejects.toThrow(
      /^http:\/\/hooks\.example could not be reached: hooks\.example: 169\.254\.169\.254 is a private address/,
    );
    expect(receiver.requests).toHaveLength(before);
  });

  it('never connects to a name of which one address is private', async () => {
    const addresses = [
      { address: '1.1.1.1', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ];
    const post = createGuardedPost(
      { permits: addressPolicy([]), timeoutMs: 5_000 },
      { now: Date.now, resolve: async () => addresses },
    );
    await expect(post({ url: 'http://hooks.example', ...message }, never)).rejects.toThrow(/10\.0\.0\.1/);
  });

  it('connects to the very address that was checked', async () => {
    const names: string[] = [];
    const post = createGuardedPost(loopback, {
      now: Date.now,
      resolve: async (name) => {
        names.push(name);
        return [{ address: '127.0.0.1', family: 4 }];
      },
    });
    const url = receiver.url.replace('127.0.0.1', 'hooks.example');
    expect((await post({ url, ...message }, never)).status).toBe(200);
    expect(names).toEqual(['hooks.example']);
    expect(receiver.requests.at(-1)?.headers.host).toContain('hooks.example');
  });

  it('waits no longer than its limit, and ends at once when aborted', async () => {
    const server = await startServer(() => undefined);
    const post = createGuardedPost({ ...loopback, timeoutMs: 50 });
    await expect(post({ url: server.url, ...message }, never)).rejects.toThrow(/no reply within 50 ms/);
    const stop = new AbortController();
    const patient = createGuardedPost(loopback)({ url: server.url, ...message }, stop.signal);
    stop.abort();
    await expect(patient).rejects.toMatchObject({ code: 'delivery_failed' });
    end(server);
  });

  it('takes a success whose words never end for a success, and a refusal too', async () => {
    const server = await startServer((request, response) => {
      response.writeHead(request.url === '/fine' ? 200 : 400).write('and');
    });
    const fine = createGuardedPost(loopback)({ url: `${server.url}/fine`, ...message }, never);
    expect(await fine).toMatchObject({ status: 200 });
    // As long as a busy machine may take to bring what comes; all of it is waited for.
    const refused = createGuardedPost({ ...loopback, timeoutMs: 3_000 })(
      { url: server.url, ...message },
      never,
    );
    expect(await refused).toMatchObject({ status: 400, text: 'and' });
    end(server);
  });

  it('reports that no server listens', async () => {
    const server = await startServer(() => undefined);
    end(server);
    await expect(createGuardedPost(loopback)({ url: server.url, ...message }, never)).rejects.toThrow(
      /could not be reached: .*ECONNREFUSED/,
    );
  });
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { createReadiness } from '../../../src/api/probes.ts';
import type { TenantStore } from '../../../src/api/tenant-store.ts';
import { startApiServer, type ApiServer } from '../../../src/api/server.ts';
import { NotFoundError } from '../../../src/domain/errors.ts';
import type { ReadinessCheck } from '../../../src/domain/readiness-check.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { fakeStore } from '../../support/api/fake-store.ts';
import { startTestApi } from '../../support/api/start-test-api.ts';

const started: ApiServer[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map(async (api) => api.stop()));
});

async function apiWith(checks: ReadinessCheck[], port = 0) {
  const api = await startTestApi({ checks, port });
  started.push(api);
  return { api, url: `http://127.0.0.1:${api.address.port}` };
}

const holds = (name: string): ReadinessCheck => ({ name, check: async () => undefined });
const fails = (name: string, reason: string): ReadinessCheck => ({
  name,
  check: async () => Promise.reject(new Error(reason)),
});

describe('the health endpoints', () => {
  it('report that the process runs, for any state of its services', async () => {
    const { url } = await apiWith([fails('store', 'gone')]);

    const response = await fetch(`${url}/healthz`);

    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok' });
  });

  it('tell ready when all checks hold', async () => {
    const { url } = await apiWith([holds('store'), holds('collector')]);

    const response = await fetch(`${url}/readyz`);

    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      status: 'ready',
      checks: { store: { ok: true }, collector: { ok: true } },
    });
  });

  it('report the parts that are not ready, without credentials', async () => {
    const { url } = await apiWith([holds('collector'), fails('store', 'http://u:secret@db:8123 is gone')]);

    const response = await fetch(`${url}/readyz`);
    const body = await response.text();

    expect(response.status).toBe(503);
    expect(JSON.parse(body)).toMatchObject({
      status: 'not_ready',
      checks: { collector: { ok: true }, store: { ok: false, error: expect.stringContaining('is gone') } },
    });
    expect(body).not.toContain('secret');
  });

  it('log what a process that starts waits for, and no failure', async () => {
    const said: unknown[] = [];
    const checks = [fails('start', 'waits for the scorers')];
    const read = createReadiness(() => checks, {
      ...silentLog,
      info: (message, fields) => said.push([message, fields]),
    });
    await read();
    checks[0] = holds('start');
    await read();

    expect(said).toEqual([
      ['readiness changed', { status: 'not_ready', waitsFor: 'start: waits for the scorers' }],
      ['readiness changed', { status: 'ready' }],
    ]);
  });

  it('count a check that never answers as failed', async () => {
    const { url } = await apiWith([{ name: 'store', check: async () => new Promise<void>(() => undefined) }]);

    const response = await fetch(`${url}/readyz`);

    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ checks: { store: { error: 'no answer within 2000 ms' } } });
  });

  it('share one run of the checks among callers at the same time', async () => {
    let runs = 0;
    const gate = Promise.withResolvers<void>();
    const { url } = await apiWith([
      {
        name: 'store',
        check: async () => {
          runs++;
          await gate.promise;
        },
      },
    ]);

    const answers = [fetch(`${url}/readyz`), fetch(`${url}/readyz`), fetch(`${url}/readyz`)];
    await expect.poll(() => runs).toBe(1);
    gate.resolve();
    const statuses = (await Promise.all(answers)).map((answer) => answer.status);

    expect(statuses).toEqual([200, 200, 200]);
  });

  it.each([
    ['GET', '/nowhere', 404],
    ['POST', '/healthz', 405],
  ])('answer %s %s with a problem document', async (method, path, status) => {
    const { url } = await apiWith([]);

    const response = await fetch(`${url}${path}`, { method });

    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(await response.json()).toMatchObject({ status, title: expect.any(String) });
  });

  it('say which key to change when the port is taken', async () => {
    const { api } = await apiWith([]);

    await expect(apiWith([], api.address.port)).rejects.toThrow(
      /cannot listen on 127\.0\.0\.1:\d+.*api\.endpoint/,
    );
  });
});

it('answers bytes that are no request with a problem document', async () => {
  const { api } = await apiWith([]);
  const socket = connect(api.address.port, '127.0.0.1');
  socket.write('no request\r\n\r\n');
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(head).toContain('HTTP/1.1 400 Bad Request');
  expect(head).toContain('content-type: application/problem+json');
  expect(JSON.parse(body)).toMatchObject({ status: 400, title: 'Bad request' });
});

describe('the connections of an API', () => {
  const READ = { name: 'reader', token: 'a-token-of-sixteen', scopes: ['read'], tenant: '' } as const;
  const headers = { authorization: `Bearer ${READ.token}` };
  const startWith = async (parts: Partial<TenantStore>) => {
    const under = { way: 0 };
    const status = () => {
      under.way += 1;
      return new Promise<object>(() => undefined);
    };
    const findStore = () => fakeStore({ status, ...parts });
    const api = await startTestApi({ tokens: [READ], findStore });
    started.push(api);
    return { under, port: api.address.port, url: `http://127.0.0.1:${api.address.port}` };
  };
  /** Opens connections that have sent the bytes, and ignores how they end. */
  const open = async (port: number, count: number, bytes: string) => {
    const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
    await Promise.all(
      sockets.map((socket) =>
        once(
          socket.on('error', () => undefined),
          'connect',
        ),
      ),
    );
    sockets.forEach((socket) => socket.resume().write(bytes));
    return () => sockets.forEach((socket) => socket.destroy());
  };

  it.each([
    ['', 'silent'],
    ['GET /api/v1/status HTTP/1.1\r\nHost: x', 'with half a head'],
    ['POST /api/v1/session HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{', 'with half a body'],
  ])('leave room for requests when 600 are open, %j (%s)', async (bytes) => {
    const { port, url } = await startWith({});
    const end = await open(port, 600, bytes);

    const replies = await Promise.all(Array.from({ length: 8 }, () => fetch(`${url}/healthz`)));

    expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    end();
  });

  it('lose their places when nobody reads their replies', async () => {
    const large = Buffer.alloc(32 * 1024 * 1024);
    const server = await startApiServer({
      host: '127.0.0.1',
      port: 0,
      log: silentLog,
      fetch: ({ url }) => new Response(url.endsWith('/large') ? large : 'small'),
      connections: { total: 4, perAddress: 2, kept: 0 },
    });
    const sockets = [1, 2].map(() => connect(server.address.port, server.address.host));
    for (const socket of sockets) {
      socket.on('error', () => undefined);
      socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(socket, 'readable');
    }
    const reply = await fetch(`http://127.0.0.1:${server.address.port}/small`);
    expect(await reply.text()).toBe('small');
    sockets.forEach((socket) => socket.destroy());
    await server.stop();
  });

  it('leave room for probes, and for nothing else, when all have a request under way', async () => {
    const { port, url, under } = await startWith({});
    const head = `GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${headers.authorization}\r\n\r\n`;
    const end = await open(port, 256, head);
    await expect.poll(() => under.way).toBe(256);

    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/api/v1/status`, { headers })).status).toBe(503);
    end();
  });

  it('carry at most 8 streams of events of a token', async () => {
    const ends: AbortSignal[] = [];
    const follow = async (_id: string, _onChange: unknown, signal: AbortSignal) => {
      ends.push(signal);
      await once(signal, 'abort');
    };
    const backfills = { follow, find: async () => ({}) } as unknown as TenantStore['backfills'];
    const { url } = await startWith({ backfills });
    const gone = new AbortController();
    const ask = () => fetch(`${url}/api/v1/backfills/1/events`, { headers, signal: gone.signal });

    const replies = await Promise.all(Array.from({ length: 200 }, ask));

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(8);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(192);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    gone.abort();
    await expect.poll(() => ends.filter(({ aborted }) => aborted).length).toBe(8);
    const again = new AbortController();
    const reply = await fetch(`${url}/api/v1/backfills/1/events`, { headers, signal: again.signal });
    expect(reply.status).toBe(200);
    again.abort();
    await expect.poll(() => ends.filter(({ aborted }) => aborted).length).toBe(9);
  });

  it('read two whole traces at a time, and refuse what would wait too long', async () => {
    const gate = Promise.withResolvers<void>();
    const most = { now: 0, ever: 0 };
    const read = async () => {
      most.now += 1;
      most.ever = Math.max(most.ever, most.now);
      await gate.promise;
      most.now -= 1;
      throw new NotFoundError('there is no such trace');
    };
    const { url } = await startWith({ traces: { read } as unknown as TenantStore['traces'] });
    const path = `${url}/api/v1/traces/${'a'.repeat(32)}`;

    const statuses: number[] = [];
    const ask = async () => statuses.push((await fetch(path, { headers })).status);
    const asked = Promise.all(Array.from({ length: 40 }, ask));

    await expect.poll(() => statuses).toEqual([503, 503, 503, 503, 503, 503]);
    gate.resolve();
    await asked;
    expect(most.ever).toBe(2);
    expect(statuses.slice(6)).toEqual(Array.from({ length: 34 }, () => 404));
  });
});

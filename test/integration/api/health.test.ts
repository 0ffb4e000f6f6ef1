import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { createReadiness } from '../../../src/api/health.ts';
import type { ApiServer } from '../../../src/api/server.ts';
import type { ReadinessCheck } from '../../../src/domain/readiness-check.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
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

import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeServeFile } from '../../../src/config/serve-file.ts';
import { emptyFolder } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { storeFlags, testStore } from '../../support/store/store-rows.ts';

it('status ends with 69 where nothing serves, names the folder, and makes none', async () => {
  const cwd = emptyFolder();
  const { code, stdout, stderr } = await runCommand(['status'], { cwd });
  expect({ code, stdout }).toEqual({ code: 69, stdout: '' });
  expect(stderr).toContain(`no serve runs on ${join(cwd, '.spanscore')}: start one with spanscore serve`);
  expect(readdirSync(cwd)).toEqual([]);
});

it('status ends with 69 where the serve of the folder does not answer', async () => {
  const cwd = emptyFolder();
  const dead = {
    pid: process.pid,
    otlpHttp: null,
    otlpGrpc: null,
    api: 'http://127.0.0.1:1',
    clickhouse: { url: 'http://127.0.0.1:1', username: '', password: '', database: '' },
  };
  writeServeFile(join(cwd, '.spanscore'), dead);
  const { code, stderr } = await runCommand(['status'], { cwd });
  expect(code).toBe(69);
  expect(stderr).toContain(`the serve with pid ${process.pid} does not answer at http://127.0.0.1:1/readyz`);
});

/** Starts an API that is ready and answers a request for its status with an HTTP status. */
async function startApi(refusal: number): Promise<string> {
  const server = createServer((request, response) => {
    const isReady = request.url === '/readyz';
    response.writeHead(isReady ? 200 : refusal, { 'content-type': 'application/json' });
    response.end(isReady ? '{"status":"ready","checks":{}}' : '{"detail":"no"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('status of a serve that refuses to show its own', () => {
  const reader = { name: 'ops', token: 'a-token-of-the-operators', scopes: ['read'] };
  it.each([
    [401, [{ ...reader, tenant: 'a' }], 'auth.tokens has none (HTTP 401)'],
    [403, [reader], 'it refuses ops of auth.tokens (HTTP 403)'],
  ])('shows what the store says, and which token is missing (%i)', async (refusal, tokens, why) => {
    const its = await testStore();
    onTestFinished(() => its.stop());
    const cwd = emptyFolder();
    const api = await startApi(refusal);
    const { url, username, password, database } = its.options;
    writeServeFile(join(cwd, '.spanscore'), {
      pid: process.pid,
      otlpHttp: null,
      otlpGrpc: null,
      api,
      clickhouse: { url, username, password, database },
    });
    writeFileSync(join(cwd, 'spanscore.config.json'), JSON.stringify({ auth: { tokens } }));
    const { code, stdout, stderr } = await runCommand(['status', '--json', ...storeFlags(its.options)], {
      cwd,
    });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(why) });
    expect(stderr).toContain('a token of all tenants with the scope read or admin');
    expect(JSON.parse(stdout)).toMatchObject({
      serve: { pid: process.pid, api, ready: true },
      store: { rows: { scores: 0 } },
    });
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkTools } from '../../../src/cli/checks/tool-checks.ts';
import { writeServeFile } from '../../../src/config/serve-file.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { freePorts } from '../../support/processes/free-ports.ts';

let folder: string;
let server: Server;
let url: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spanscore-tools-'));
  server = createServer((request, response) => {
    const isStatus = request.url === '/api/v1/status';
    const isAllowed = isStatus || request.headers.authorization === 'Bearer good';
    response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' });
    const exporters = [
      { name: 'phoenix', lastError: 'phoenix answered HTTP 401' },
      { name: 'mlflow', lastError: null, deadLetters: 2 },
      { name: 'webhook', lastError: null, deadLetters: 0 },
    ];
    response.end(JSON.stringify(isStatus ? { exporters } : { data: [], next_cursor: null }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true });
});

test('doctor names the sources that cannot be read, and the exporters with a fault', async () => {
  const clickhouse = { url, username: '', password: '', database: '' };
  writeServeFile(folder, { pid: process.pid, api: url, otlpHttp: null, otlpGrpc: null, clickhouse });
  const phoenix = (apiKey: string) => ({ phoenix: { endpoint: url, apiKey } });
  const checks = await checkTools(
    parseConfig({
      store: { dataDir: folder },
      sources: { open: phoenix('good'), shut: phoenix('bad'), archive: { files: join(folder, '*.jsonl') } },
    }),
    silentLog,
  );
  expect(checks.map(({ check, status, detail }) => `${check} ${status}: ${detail}`)).toEqual([
    'source open ok: can be read',
    expect.stringMatching('source shut failed: phoenix answered HTTP 401'),
    expect.stringMatching('source archive failed: no file matches'),
    'exporter phoenix failed: phoenix answered HTTP 401',
    'exporter mlflow warning: gave up 2 scores',
    'exporter webhook ok: delivers',
  ]);
});

test('doctor says why a source cannot be reached', async () => {
  const [port] = await freePorts(1);
  const checks = await checkTools(
    parseConfig({
      store: { dataDir: join(folder, 'none') },
      sources: { gone: { phoenix: { endpoint: `http://127.0.0.1:${port}` } } },
    }),
    silentLog,
  );
  expect(checks.map(({ detail }) => detail)).toEqual([expect.stringMatching(/phoenix .*ECONNREFUSED/u)]);
});

test('doctor waits with files that the engine reads until there is a store', async () => {
  const sources = { bucket: { files: 's3://traces/**.parquet' } };
  const checks = await checkTools(
    parseConfig({ store: { dataDir: join(folder, 'none') }, sources }),
    silentLog,
  );
  expect(checks).toEqual([
    { check: 'source bucket', status: 'ok', detail: expect.stringContaining('read by the store') as string },
  ]);
});

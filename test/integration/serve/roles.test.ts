import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/configuration.ts';
import { startServeApi } from '../../../src/api/serve-api.ts';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { startServe, type Role } from '../../../src/serve.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const stops: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) {
    await stop();
  }
});

async function startRole(dataDir: string, roles: readonly Role[]) {
  const serve = await startServe(
    {
      store: { dataDir },
      receivers: { otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } } },
      api: { endpoint: '127.0.0.1:0' },
      rules: [],
    },
    { roles, log: silentLog },
  );
  stops.push(() => serve.stop());
  return serve.addresses;
}

async function startProbes({ port = 0, hasApi = true } = {}) {
  const config = parseConfig({ api: { endpoint: `127.0.0.1:${port}` } }, { scorers: PREBUILT_SCORERS });
  const metrics = createMetrics({ version: 'test', log: silentLog });
  const api = await startServeApi(config, { hasApi, log: silentLog, metrics });
  stops.push(
    () => metrics.stop(),
    () => api.stop(),
  );
  return api;
}

describe('a process with some of the roles', () => {
  it('answers probes and metrics in every role, and the other routes only with the role api', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-roles-'));
    stops.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const owner = await startRole(dataDir, ['store', 'api']);
    expect(owner.probes).toBe(owner.api);
    for (const role of ['scorer', 'collector'] as const) {
      const { api, probes } = await startRole(dataDir, [role]);
      expect(api).toBeNull();
      const statuses = await Promise.all(
        ['healthz', 'readyz', 'metrics', 'api/v1/status'].map(
          async (path) => (await fetch(`${probes}/${path}`)).status,
        ),
      );
      expect(statuses).toEqual([200, 200, 200, 404]);
      const ready = (await (await fetch(`${probes}/readyz`)).json()) as { checks: object };
      expect(Object.keys(ready.checks)).toContain('store');
      expect(Object.keys(ready.checks).includes('receivers')).toBe(role === 'collector');
    }
  });
});

describe('the probes of a process that starts', () => {
  it('say that it lives, and what its start waits for', async () => {
    const first = await startProbes();
    const { port } = (await first.open({ checks: [] })) ?? { port: 0 };
    await first.stop();
    const api = await startProbes({ port });
    api.waitFor('the store');
    const url = `http://127.0.0.1:${port}`;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const readyz = await fetch(`${url}/readyz`);
    expect(readyz.status).toBe(503);
    expect(await readyz.json()).toMatchObject({
      checks: { start: { ok: false, error: 'the start waits for the store' } },
    });
    expect((await fetch(`${url}/api/v1/status`)).status).toBe(503);
    await api.open({ checks: [] });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await fetch(`${url}/api/v1/status`)).status).toBe(404);
  });

  it('wait for a port in use; without the role api the process runs without probes', async () => {
    const first = await startProbes();
    const { port } = (await first.open({ checks: [] })) ?? { port: 0 };
    const scorer = await startProbes({ port, hasApi: false });
    expect(await scorer.open({ checks: [] })).toBeNull();
    const refused = await startProbes({ port });
    await expect(refused.open({ checks: [] })).rejects.toThrow(/cannot listen/u);
    const waiting = await startProbes({ port });
    await first.stop();
    expect(await waiting.open({ checks: [] })).toMatchObject({ port });
  });
});

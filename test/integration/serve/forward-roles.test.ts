import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type Role, type Serve, startServe } from '../../../src/serve.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { freePorts } from '../../support/processes/free-ports.ts';

const any = { endpoint: '127.0.0.1:0' };
let serve: Serve | undefined;

afterEach(async () => {
  await serve?.stop();
  serve = undefined;
});

async function start(roles?: readonly Role[]) {
  const [nobody = 0] = await freePorts(1);
  const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-forward-'));
  serve = await startServe(
    {
      store: { dataDir },
      receivers: { otlp: { http: any, grpc: any } },
      api: any,
      forward: { kafka: { brokers: [`127.0.0.1:${nobody}`] } },
    },
    { log: silentLog, ...(roles === undefined ? {} : { roles }) },
  );
  return { serve, dataDir };
}

it.each<{ roles: readonly Role[] }>([
  { roles: ['scorer'] },
  { roles: ['collector', 'store'] },
  { roles: ['api'] },
])('a process with forward cannot have the roles $roles', async ({ roles }) => {
  await expect(start(roles)).rejects.toThrow(
    /no store, so it cannot have the roles .*: use collector and api/,
  );
});

it('starts without a broker and without a store, and says that it is not ready', async () => {
  const { serve: running, dataDir } = await start();
  expect(running.addresses.clickhouse).toBeNull();
  expect(readdirSync(dataDir)).toEqual(['serve.json']);
  expect((await fetch(`${running.addresses.api}/healthz`)).status).toBe(200);
  const ready = await fetch(`${running.addresses.api}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ checks: { receivers: { ok: true }, forward: { ok: false } } });
});

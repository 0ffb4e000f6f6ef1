import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ConfigInput } from '../../../../src/configuration.ts';
import { type Serve, startServe } from '../../../../src/serve.ts';
import type { SpendEntry } from '../../../../src/store/contracts/stores.ts';
import { createJudgeCallStore } from '../../../../src/store/tables/judge-calls.ts';
import { openDatabase } from '../../../../src/store/open-database.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { HOUR_MS } from '../../../support/monitors/hourly-monitors.ts';
import { scoreRowAt } from '../../../support/monitors/monitor-world.ts';
import { until } from '../../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'spanscore-monitors-'));
const any = { endpoint: '127.0.0.1:0' };

function buildConfig(
  monitors: NonNullable<ConfigInput['monitors']>,
  more: Partial<ConfigInput> = {},
): ConfigInput {
  return {
    ...more,
    store: { dataDir: join(folder, 'data') },
    receivers: { otlp: { http: any, grpc: any } },
    api: any,
    monitors,
  };
}

beforeAll(async () => {
  const serve = await startServe(buildConfig([]), { log: silentLog });
  const { clickhouse } = serve.addresses;
  if (clickhouse === null) {
    throw new Error('this serve has a store');
  }
  const database = openDatabase(clickhouse);
  const atMs = Date.now() - 2 * HOUR_MS;
  const row = () => scoreRowAt(atMs, { score: 0.05 });
  await database.insertRows('scores', Array.from({ length: 100 }, row));
  await createJudgeCallStore(database).spend([aCall(0.6)]);
  await database.close();
  await serve.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Builds the cost of a judge call of today. */
function aCall(costUsd: number): SpendEntry {
  const nobody = { rule: 'r', tenant: '', scope: '', scoreId: randomUUID(), leaseId: randomUUID() } as const;
  return { ...nobody, kind: 'call', costUsd, atMs: Date.now(), entryId: randomUUID() };
}

const file = join(folder, 'quality.yaml');
writeFileSync(file, 'groups: [{ name: quality, rules: [{ alert: Low, detector: floor, minimum: 0.5 }] }]\n');

it('a serve with new monitors reads stored scores, raises alerts, and shows the states', async () => {
  const budgets = { total: { perDay: 1 } };
  const serve = await startServe(buildConfig([file], { budgets }), { log: silentLog });
  const ask = (path: string) => fetch(`${serve.addresses.api}${path}`);
  try {
    await until(async () => (await (await ask('/metrics')).text()).includes('state="firing"'));
    // The metrics tell what is in memory; it is stored a moment later.
    await until(async () => (await (await ask('/api/v1/monitors')).text()).includes('"firing"'));
    const metrics = await (await ask('/metrics')).text();
    expect(metrics).toMatch(/^spanscore_monitor_series\{state="firing"\} 1$/m);
    expect(metrics).toMatch(
      /^spanscore_monitor_state\{alert="Low",tenant="",scorer="keyword-coverage",.*,state="firing"\} 1$/m,
    );
    expect(metrics).toMatch(/^spanscore_monitor_mean\{alert="Low",.*\} 0\.05$/m);
    expect(metrics).toMatch(/^spanscore_budget\{scope="total",.*,period="day",state="spent"\} 0\.6$/m);
    expect(metrics).toMatch(/^spanscore_budget\{scope="total",.*,period="day",state="cap"\} 1$/m);
    await until(async () => (await (await ask('/api/v1/alerts')).text()).includes('BudgetSpent'));
    const { items } = (await (await ask('/api/v1/alerts')).json()) as { items: { alert: string }[] };
    expect(items.toSorted((a, b) => a.alert.localeCompare(b.alert))).toMatchObject([
      {
        alert: 'BudgetSpent',
        status: 'firing',
        budget: { scope: 'total', period: 'day', percent: 50, capUsd: 1, spentUsd: 0.6 },
      },
      { alert: 'Low', status: 'firing', after: 0.05, count: 100 },
    ]);
    expect(await (await ask('/api/v1/monitors')).json()).toMatchObject({ items: [{ phase: 'firing' }] });
  } finally {
    await serve.stop();
  }
});

it('a serve without monitors and budgets ends the incidents of former ones', async () => {
  const told = async (serve: Serve) => {
    const answer = await fetch(`${serve.addresses.api}/api/v1/alerts`);
    const { items } = (await answer.json()) as { items: { alert: string; status: string }[] };
    return items.map(({ alert, status }) => `${alert} ${status}`);
  };
  const watching = await startServe(buildConfig([file]), { log: silentLog });
  await until(async () => (await told(watching)).includes('Low firing'));
  await watching.stop();
  const bare = await startServe(buildConfig([]), { log: silentLog });
  try {
    await until(async () => (await told(bare)).length > 3);
    expect((await told(bare)).sort()).toEqual([
      'BudgetSpent firing',
      'BudgetSpent resolved',
      'Low firing',
      'Low resolved',
    ]);
  } finally {
    await bare.stop();
  }
});

it('a serve does not start with monitors that are not there, or have one name', async () => {
  await expect(startServe(buildConfig([join(folder, 'none.yaml')]), { log: silentLog })).rejects.toThrow(
    /there is no file .*none\.yaml/,
  );
  const group = { name: 'g', rules: [{ alert: 'Twice', detector: 'floor' as const, minimum: 0.5 }] };
  const twice = buildConfig([{ groups: [group] }, { groups: [group] }]);
  await expect(startServe(twice, { log: silentLog })).rejects.toThrow(
    /another rule of .* has the name Twice too/,
  );
});

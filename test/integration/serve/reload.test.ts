import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../../src/configuration.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { isProcessAlive } from '../../support/processes/engine-directory.ts';
import { ReloadWorld } from '../../support/processes/reload-world.ts';
import { sendTraces } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

describe('a reload of a running serve', () => {
  const world = new ReloadWorld();
  const receivers: HttpReceiver[] = [];
  const base: ConfigInput = {
    rules: [{ name: 'all', scorers: ['mine'] }],
    scorers: { mine: { module: './mine.mjs', range: [0, 1], higherIsBetter: true } },
  };

  beforeAll(async () => {
    writeModule(0.25);
    receivers.push(await startHttpReceiver(), await startHttpReceiver());
    await world.start({ ...base, ...exportTo(0) });
  }, 240_000);
  afterEach(() => world.write(base));
  afterAll(async () => {
    await world.stop();
    await Promise.all(receivers.map((receiver) => receiver.close()));
  });

  const exportTo = (index: number): ConfigInput => ({
    exporters: { otlp: { endpoint: receivers[index]?.url ?? '' } },
  });

  /** Writes a scorer that gives each run this score, and the number of its process as the reason. */
  function writeModule(score: number): void {
    const text = `export default { id: 'mine', version: '${score}', judgeModel: '', run: () => ({ score: ${score}, reason: String(process.pid) }) };\n`;
    writeFileSync(join(world.folder, 'mine.mjs'), text);
  }

  /** Sends a trace, and waits for its score. */
  async function readScore(): Promise<{ score: number; pid: number }> {
    const id = await world.send();
    let rows: { Score: number; Reason: string }[] = [];
    await until(async () => {
      const sql = `SELECT Score, Reason FROM scores FINAL WHERE TraceId = '${id}'`;
      rows = await queryRows(world.serve.addresses.clickhouse, sql);
      return rows.length > 0;
    });
    return { score: rows[0]?.Score ?? -1, pid: Number(rows[0]?.Reason) };
  }

  /** Reads how many scores went to the receiver, as the status tells. */
  async function readSent(): Promise<number> {
    const status = await fetch(`${world.serve.addresses.api}/api/v1/status`);
    const { exporters } = (await status.json()) as { exporters: { sent: number }[] };
    return exporters[0]?.sent ?? 0;
  }

  it('uses the changed module of a scorer, and ends the processes of the former one', async () => {
    world.write({ ...base, ...exportTo(0) });
    const before = await readScore();
    expect(before.score).toBe(0.25);
    writeModule(0.75);
    expect(await world.control.reload()).toMatchObject({ outcome: 'applied', changed: ['scorers.mine'] });
    const after = await readScore();
    expect(after.score).toBe(0.75);
    await until(() => !isProcessAlive(before.pid));

    world.write({ ...base, ...exportTo(0), budgets: { total: { perDay: 5 } } });
    expect(await world.control.reload()).toMatchObject({ outcome: 'applied', changed: ['budgets.total'] });
    expect(await readScore()).toEqual(after);
  }, 240_000);

  it('exports to the changed receiver, to the former one no more, and goes on counting', async () => {
    await until(async () => (await readSent()) > 0);
    const sent = await readSent();
    world.write({ ...base, ...exportTo(1) });
    expect(await world.control.reload()).toMatchObject({ outcome: 'applied' });
    expect(await readSent()).toBeGreaterThanOrEqual(sent);
    const former = receivers[0]?.requests.length ?? 0;
    expect(former).toBeGreaterThan(0);
    await readScore();
    await until(() => (receivers[1]?.requests.length ?? 0) > 0);
    expect(receivers[0]?.requests).toHaveLength(former);
  }, 240_000);

  it('takes the changed tokens of senders and of the API, and reads by added conventions', async () => {
    const tokens = [
      { name: 'agents', token: 'the-token-of-agents', scopes: ['ingest' as const] },
      { name: 'ops', token: 'the-token-of-ops', scopes: ['admin' as const] },
    ];
    const acme = {
      name: 'acme',
      match: { scope: 'acme.*' },
      kind: { from: 'acme.kind', values: { llm: 'model' as const, step: 'agent' as const } },
      fields: { input: ['acme.prompt'], output: 'acme.reply' },
    };
    world.write({ ...base, auth: { tokens }, conventions: [acme] });
    const status = async (token?: string) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return (await fetch(`${world.serve.addresses.api}/api/v1/rules`, { headers })).status;
    };
    expect(await status()).toBe(200);
    expect(await world.control.reload()).toMatchObject({
      outcome: 'applied',
      changed: expect.arrayContaining(['auth.tokens', 'conventions.acme']) as string[],
    });
    expect(await status()).toBe(401);
    expect(await status('the-token-of-ops')).toBe(200);
    expect(await sendTraces(world.serve.addresses.otlpHttp ?? '', anAgentTrace().request())).toBe(401);

    world.write(base);
    expect(await world.control.reload()).toMatchObject({ outcome: 'applied' });
    expect((await readScore()).score).toBe(0.75);
  }, 240_000);
});

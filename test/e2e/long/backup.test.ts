import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEngineFile } from '../../../src/store/embedded/data-folder.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { emptyFolder, requireDone, runCli, startCli, type CliResult } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows, type ClickHouseAddress } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

const SCORERS = ['keyword-coverage', 'no-tool-errors'];

/** Decisions `scored` that have no score. */
const WITHOUT_SCORE = `SELECT TraceId, Scorer FROM decisions FINAL WHERE Status = 'scored' AND Scorer != '*'
  AND (TraceId, Scorer) NOT IN (SELECT TraceId, Scorer FROM scores FINAL)`;

async function readTraces(address: ClickHouseAddress, table: string): Promise<Set<string>> {
  const rows = await queryRows<{ TraceId: string }>(address, `SELECT DISTINCT TraceId FROM ${table}`);
  return new Set(rows.map(({ TraceId }) => TraceId));
}

/** Starts a command, and kills it as soon as something is so. */
async function killCommand(
  args: readonly string[],
  { cwd, when }: { readonly cwd: string; readonly when: () => boolean | Promise<boolean> },
): Promise<void> {
  const command = startCli(args, { cwd, stdin: '' });
  const ended = command.ended.then(({ stderr }) => {
    throw new Error(`the command ended before its kill: ${stderr}`);
  });
  await Promise.race([until(when), ended]);
  command.child.kill('SIGKILL');
  await ended.catch(() => undefined);
}

describe('a backup of a serve under load that is killed afterwards', () => {
  const rules = [{ name: 'all', scorers: SCORERS }];
  const folder = new ServeFolder({ rules });
  const copies = emptyFolder();
  const [killed, copy] = [join(copies, 'killed'), join(copies, 'copy')];
  const restored = new ServeFolder({ rules });
  const acknowledged: string[] = [];
  let sentBefore: readonly string[];
  let after: ServeAddresses;
  let ofKilled: CliResult;
  let killedFiles: readonly string[];
  let startAfterKill: unknown;

  /** Returns true while a restore runs that has filled a table. */
  async function hasRestored(table: string): Promise<boolean> {
    const engine = await readEngineFile(restored.dataDir);
    const sql = `SELECT 1 FROM system.parts WHERE database = 'spanscore' AND table = '${table}' AND active LIMIT 1`;
    return (
      engine !== undefined &&
      (await queryRows({ ...engine, database: 'default' }, sql).catch(() => [])).length > 0
    );
  }

  async function sendUntil(signal: AbortSignal, otlpHttp: string): Promise<void> {
    while (!signal.aborted) {
      const trace = anAgentTrace();
      if ((await sendTraces(otlpHttp, trace.request())) === 200) {
        acknowledged.push(trace.traceId);
      }
    }
  }

  beforeAll(async () => {
    const { otlpHttp, clickhouse } = await folder.start();
    const sending = new AbortController();
    const senders = [1, 2].map(() => sendUntil(sending.signal, otlpHttp));
    await until(async () => (await readTraces(clickhouse, 'scores')).size > 20);
    sentBefore = [...acknowledged];
    const backup = (to: string) => ['backup', '--to', to, '--config', folder.configFile];
    const isCopying = () => existsSync(killed) && readdirSync(killed).length > 5;
    await killCommand(backup(killed), { cwd: folder.path, when: isCopying });
    killedFiles = readdirSync(killed);
    requireDone(await runCli(backup(copy), { cwd: folder.path }));
    await folder.killGroup();
    sending.abort();
    await Promise.all(senders);
    const restoreOf = (from: string) => ['restore', '--from', from, '--config', restored.configFile];
    ofKilled = await runCli(restoreOf(killed), { cwd: restored.path });
    const restore = restoreOf(copy);
    await killCommand(restore, { cwd: restored.path, when: () => hasRestored('otel_traces') });
    startAfterKill = await restored.start().catch((error: unknown) => String(error));
    requireDone(await runCli(restore, { cwd: restored.path }));
  });
  afterAll(async () => {
    await restored.dispose();
    await folder.dispose();
  });

  it('has its description last: what a kill leaves is no backup', () => {
    expect(killedFiles).not.toContain('backup.json');
    expect(ofKilled).toMatchObject({ code: 4 });
    expect(ofKilled.stderr).toContain('it has no backup.json');
  });

  it('is served only when a restore of it has ended', () => {
    expect(startAfterKill).toContain('spanscore restore has not finished with it');
  });

  it('restores every span that was acknowledged before, and a score for every decision that says so', async () => {
    after = await restored.start();
    const [spans, traces] = await Promise.all([
      readTraces(after.clickhouse, 'otel_traces'),
      readTraces(after.clickhouse, 'trace_activity'),
    ]);
    expect(sentBefore.filter((id) => !spans.has(id) || !traces.has(id))).toEqual([]);
    expect([...spans].filter((id) => !traces.has(id))).toEqual([]);
    expect(await queryRows(after.clickhouse, WITHOUT_SCORE)).toEqual([]);
  });

  it('goes on where it was: every restored trace is scored by every scorer', async () => {
    const traces = await readTraces(after.clickhouse, 'otel_traces');
    expect(traces.size).toBeGreaterThan(20);
    const countScores = async () =>
      Number(
        (
          await queryRows<{ n: string }>(
            after.clickhouse,
            'SELECT uniqExact(TraceId, Scorer) AS n FROM scores FINAL',
          )
        )[0]?.n,
      );
    await expect.poll(countScores, { timeout: 60_000 }).toBe(traces.size * SCORERS.length);
    const [twice] = await queryRows<{ n: string }>(
      after.clickhouse,
      'SELECT count() - uniqExact(TraceId, Scorer) AS n FROM scores FINAL',
    );
    expect(twice?.n).toBe('0');
  });
});

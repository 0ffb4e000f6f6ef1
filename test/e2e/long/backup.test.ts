import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { emptyFolder, requireDone, runCli } from '../../support/processes/cli.ts';
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

describe('a backup of a serve under load that is killed afterwards', () => {
  const rules = [{ name: 'all', scorers: SCORERS }];
  const folder = new ServeFolder({ rules });
  const copy = join(emptyFolder(), 'copy');
  const restored = new ServeFolder({ rules });
  const acknowledged: string[] = [];
  let sentBefore: readonly string[];
  let after: ServeAddresses;

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
    const made = await runCli(['backup', '--to', copy, '--config', folder.configFile], { cwd: folder.path });
    requireDone(made);
    await folder.killGroup();
    sending.abort();
    await Promise.all(senders);
    const done = await runCli(['restore', '--from', copy, '--config', restored.configFile], {
      cwd: restored.path,
    });
    requireDone(done);
  });
  afterAll(async () => {
    await restored.dispose();
    await folder.dispose();
  });

  it('restores every span that was acknowledged before, and a score for every decision that says so', async () => {
    const list = await runCli(['scores', '--limit', '1', '--json', '--config', restored.configFile], {
      cwd: restored.path,
    });
    requireDone(list);
    after = await restored.start();
    const traces = await readTraces(after.clickhouse, 'trace_activity');
    expect(sentBefore.filter((id) => !traces.has(id))).toEqual([]);
    expect(await queryRows(after.clickhouse, WITHOUT_SCORE)).toEqual([]);
  });

  it('goes on where it was: every restored trace is scored by every scorer', async () => {
    const traces = await readTraces(after.clickhouse, 'trace_activity');
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

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { requireDone, startCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows, type ClickHouseAddress } from '../../support/store/clickhouse-query.ts';
import { testEngine, type TestEngine } from '../../support/store/engine.ts';
import { differingTables } from '../../support/store/kept-folder.ts';
import { until } from '../../support/until.ts';

const DATABASE = `moved_${process.pid}`;
const TRACES_BEFORE = 400;
const KILLS = 3;
const SENDERS = 4;
const SCORERS = ['keyword-coverage', 'no-tool-errors'];

describe('a move beside a serve, killed three times', () => {
  const acknowledged: string[] = [];
  const stopping = new AbortController();
  let refusals = 0;
  let receiver: HttpReceiver;
  let engine: TestEngine;
  let folder: ServeFolder;
  let target: ClickHouseAddress;
  let otlpHttp: string | undefined;
  let senders: Promise<void>[];
  let differences: readonly string[];

  /** Sends traces, each until it is acknowledged. */
  async function sendAlways(): Promise<void> {
    while (!stopping.signal.aborted) {
      const trace = anAgentTrace();
      while (!stopping.signal.aborted) {
        const status = otlpHttp === undefined ? 0 : await sendTraces(otlpHttp, trace.request());
        if (status === 200) {
          acknowledged.push(trace.traceId);
          break;
        }
        refusals += status === 503 || status === 429 ? 1 : 0;
        await sleep(200);
      }
      await sleep(acknowledged.length < TRACES_BEFORE ? 0 : 50);
    }
  }

  const startMove = () => {
    const url = new URL(engine.url);
    url.username = engine.username;
    url.password = engine.password;
    return startCli(['move', '--to', url.href, '--database', DATABASE, '--config', folder.configFile], {
      cwd: folder.path,
      stdin: '',
    });
  };

  beforeAll(async () => {
    receiver = await startHttpReceiver();
    engine = await testEngine();
    target = { ...engine, database: DATABASE };
    const config = {
      rules: [{ name: 'all', scorers: SCORERS }],
      exporters: { webhook: { url: receiver.url } },
    };
    folder = new ServeFolder(config);
    const addresses = await folder.start();
    ({ otlpHttp } = addresses);
    senders = Array.from({ length: SENDERS }, sendAlways);
    await until(() => acknowledged.length > TRACES_BEFORE, 60_000);
    for (let kill = 0; kill < KILLS; kill++) {
      const move = startMove();
      await sleep(3_000 + 2_000 * kill);
      move.child.kill('SIGKILL');
      await move.ended;
    }
    requireDone(await startMove().ended);
    // The former store still answers reads.
    differences = await differingTables(addresses.clickhouse, target);
    otlpHttp = undefined;
    await folder.stop();
    const purgeKey = readFileSync(join(folder.dataDir, 'purge.key'), 'utf8').trim();
    const { url, username, password } = engine;
    folder.configure({ ...config, store: { url, username, password, database: DATABASE, purgeKey } });
    ({ otlpHttp } = await folder.start());
    const sofar = acknowledged.length;
    await until(() => acknowledged.length > sofar + 20, 60_000);
    stopping.abort();
    await Promise.all(senders);
  });
  afterAll(async () => {
    stopping.abort();
    await folder.dispose();
    await engine.stop();
    await receiver.close();
  });

  it('makes all tables equal', () => {
    expect(differences).toEqual([]);
  });

  it('loses no acknowledged span, and stores none twice, while senders get 503 and send again', async () => {
    const rows = await queryRows<{ TraceId: string; spans: string; distinct: string }>(
      target,
      'SELECT TraceId, count() AS spans, uniqExact(SpanId) AS distinct FROM otel_traces GROUP BY TraceId',
    );
    const stored = new Map(rows.map((row) => [row.TraceId, row]));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(rows.filter(({ spans, distinct }) => spans !== distinct)).toEqual([]);
    expect(refusals).toBeGreaterThan(0);
  });

  it('scores every trace once, and exports no score again', async () => {
    const countScores = async () =>
      Number(
        (
          await queryRows<{ n: string }>(target, 'SELECT uniqExact(TraceId, Scorer) AS n FROM scores FINAL')
        )[0]?.n,
      );
    await expect.poll(countScores, { timeout: 60_000 }).toBe(new Set(acknowledged).size * SCORERS.length);
    const ids = () => receiver.requests.map(({ headers }) => String(headers['webhook-id']));
    await expect.poll(() => new Set(ids()).size, { timeout: 60_000 }).toBe(await countScores());
    expect(ids().filter((id, index, all) => all.indexOf(id) !== index)).toEqual([]);
  });
});

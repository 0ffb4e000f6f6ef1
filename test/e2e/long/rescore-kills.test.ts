import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { jsonLines, runCli, startCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Three starts, two leases that grow old, a machine that is busy with other things.
vi.setConfig({ testTimeout: 600_000 });

const TRACES = 40;
/** Judge calls at the same time. */
const CONCURRENCY = 2;

let judge: JudgeServer;
let folder: ServeFolder;

beforeAll(async () => {
  judge = await startJudgeServer(verdictJudge);
  folder = new ServeFolder({
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: judge.baseUrl, concurrency: CONCURRENCY } },
    },
    rules: [{ name: 'all', scorers: ['hallucination'] }],
  });
});
afterAll(async () => {
  await folder.dispose();
  await judge.close();
});

async function count(condition: string): Promise<number> {
  const [row] = await queryRows<{ n: string }>(
    folder.addresses().clickhouse,
    `SELECT count() AS n FROM scores FINAL WHERE ${condition}`,
  );
  return Number(row?.n ?? 0);
}

it('a rescore whose processes are all killed is finished by the next serve, with no needless judge call', async () => {
  const { otlpHttp } = await folder.start();
  for (let n = 0; n < TRACES; n += 1) {
    const trace = anAgentTrace().answering(`It is ${n} degrees in Paris.`);
    expect(await sendTraces(otlpHttp, trace.request())).toBe(200);
  }
  await until(
    async () => (await count('1')) === TRACES,
    300_000,
    () => folder.output.slice(-3_000),
  );
  const callsPerTrace = judge.requests.length / TRACES;
  judge.script(async (request) => {
    const reply = await verdictJudge(request);
    return reply.kind === 'text' ? { ...reply, delayMs: 200 } : reply;
  });

  const command = ['rescore', '--scorer', 'hallucination', '--json', '--config', folder.configFile];
  const attached = startCli(command, { cwd: folder.path, stdin: '' });
  await until(
    async () => (await count('Revision = 2')) >= 5,
    300_000,
    () => attached.output.stderr,
  );
  attached.child.kill('SIGKILL');
  await folder.killGroup();
  await attached.ended;

  await folder.start();
  await until(
    async () => (await count('Revision = 2')) === TRACES,
    300_000,
    () => folder.output.slice(-3_000),
  );
  const again = await runCli(['rescore', '--failed', '--json', '--config', folder.configFile], {
    cwd: folder.path,
  });
  expect(jsonLines(again.stdout).at(-1)).toMatchObject({ status: 'done', matched: 0 });
  const [job] = await queryRows<{ Status: string; Report: string }>(
    folder.addresses().clickhouse,
    `SELECT Status, Report FROM jobs FINAL WHERE Spec LIKE '%hallucination%' ORDER BY CreatedAt LIMIT 1`,
  );
  expect(job?.Status).toBe('done');
  expect(JSON.parse(job?.Report ?? '{}')).toMatchObject({ failed: {}, skipped: {}, remaining: 0 });
  expect(await count('Revision = 2')).toBe(TRACES);
  // Runs that use or wait for a call are lost by a kill: two for each call at a time.
  const needless = judge.requests.length - 2 * TRACES * callsPerTrace;
  expect(needless).toBeLessThanOrEqual(2 * CONCURRENCY * callsPerTrace);
});

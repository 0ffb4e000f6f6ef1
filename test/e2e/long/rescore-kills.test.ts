import { afterEach, beforeEach, expect, it } from 'vitest';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { jsonLines, runCli, startCli } from '../../support/processes/cli.ts';
import { sendAnswers, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

const TRACES = 40;
/** Part of each prompt that names its trace. */
const ANSWER = /It is (\d+) degrees/u;

let judge: JudgeServer;
let folder: ServeFolder;

beforeEach(async () => {
  judge = await startJudgeServer(verdictJudge);
  folder = new ServeFolder({
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: judge.baseUrl, concurrency: 2 } },
    },
    rules: [{ name: 'all', scorers: ['hallucination'] }],
  });
});
afterEach(async () => {
  await folder.dispose();
  await judge.close();
});

async function listScored(condition: string): Promise<string[]> {
  const rows = await queryRows<{ TraceId: string }>(
    folder.addresses().clickhouse,
    `SELECT TraceId FROM scores FINAL WHERE ${condition}`,
  );
  return rows.map(({ TraceId }) => TraceId);
}

it('a rescore whose processes are all killed is finished by the next serve, which asks about no scored trace again', async () => {
  const { otlpHttp } = await folder.start();
  const sent = await sendAnswers({ otlpHttp }, TRACES);
  const answers = new Map(sent.map((traceId, n) => [traceId, String(n)]));
  await until(
    async () => (await listScored('1')).length === TRACES,
    300_000,
    () => folder.output.slice(-3_000),
  );
  judge.script(async (request) => {
    const reply = await verdictJudge(request);
    return reply.kind === 'text' ? { ...reply, delayMs: 200 } : reply;
  });

  const command = ['rescore', '--scorer', 'hallucination', '--json', '--config', folder.configFile];
  const attached = startCli(command, { cwd: folder.path, stdin: '' });
  let scoredAgain: string[] = [];
  await until(
    async () => {
      scoredAgain = await listScored('Revision = 2');
      return scoredAgain.length >= 5;
    },
    300_000,
    () => attached.output.stderr,
  );
  attached.child.kill('SIGKILL');
  await folder.killGroup();
  await attached.ended;
  const callsBefore = judge.requests.length;

  await folder.start();
  await until(
    async () => (await listScored('Revision = 2')).length === TRACES,
    300_000,
    () => folder.output.slice(-3_000),
  );
  const again = await runCli(['rescore', '--failed', '--json', '--config', folder.configFile], {
    cwd: folder.path,
  });
  expect(jsonLines(again.stdout).at(-1)).toMatchObject({ status: 'done', matched: 0 });
  // The job ends after its last score.
  let job: { Status: string; Report: string } | undefined;
  await until(
    async () => {
      [job] = await queryRows<NonNullable<typeof job>>(
        folder.addresses().clickhouse,
        `SELECT Status, Report FROM jobs FINAL WHERE Spec LIKE '%hallucination%' ORDER BY CreatedAt LIMIT 1`,
      );
      return job?.Status === 'done';
    },
    120_000,
    () => job,
  );
  expect(JSON.parse(job?.Report ?? '{}')).toMatchObject({ failed: {}, skipped: {}, remaining: 0 });
  expect((await listScored('Revision = 2')).toSorted()).toEqual([...answers.keys()].toSorted());
  const askedAfter = new Set(judge.requests.slice(callsBefore).map(({ prompt }) => ANSWER.exec(prompt)?.[1]));
  expect(askedAfter.size).toBeGreaterThan(0);
  expect(scoredAgain.filter((traceId) => askedAfter.has(answers.get(traceId)))).toEqual([]);
});

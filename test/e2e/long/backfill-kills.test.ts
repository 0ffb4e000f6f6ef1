import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { sendAnswers, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Three starts, leases that grow old, a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const TRACES = 45;
const KILLS = 2;
/** Judge calls at the same time. */
const CONCURRENCY = 2;

let judge: JudgeServer;
let folder: ServeFolder;

beforeAll(async () => {
  judge = await startJudgeServer(async (request) => {
    const reply = await verdictJudge(request);
    return reply.kind === 'text' ? { ...reply, delayMs: 100 } : reply;
  });
  folder = new ServeFolder({
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: judge.baseUrl, concurrency: CONCURRENCY } },
    },
    rules: [],
  });
});
afterAll(async () => {
  await folder.dispose();
  await judge.close();
});

async function countScores(): Promise<number> {
  const [row] = await queryRows<{ n: string }>(
    folder.addresses().clickhouse,
    `SELECT count() AS n FROM scores FINAL WHERE Source = 'backfill'`,
  );
  return Number(row?.n ?? 0);
}

const cli = async (...args: string[]) => {
  const result = await runCli([...args, '--json', '--config', folder.configFile], { cwd: folder.path });
  return { ...result, job: jsonLines(result.stdout).at(-1) as Record<string, unknown> | undefined };
};

it('a detached backfill is finished over kills of every process, with exact counts and no needless judge call', async () => {
  const { otlpHttp } = await folder.start();
  await sendAnswers({ otlpHttp }, TRACES);
  await until(async () => {
    const { job } = await cli('backfill', '--from', '1d', '--scorer', 'hallucination', '--dry-run');
    return job?.['remaining'] === TRACES;
  }, 120_000);
  const started = await cli('backfill', '--from', '1d', '--scorer', 'hallucination', '--detach');
  expect([started.code, started.job?.['status']]).toEqual([0, 'queued']);
  const id = String(started.job?.['id']);
  let scored = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const more = scored + 8;
    await until(
      async () => (await countScores()) >= more,
      300_000,
      () => folder.output.slice(-3_000),
    );
    await folder.killGroup();
    await folder.start();
    scored = await countScores();
    expect(scored).toBeLessThan(TRACES);
  }
  await until(
    async () => (await cli('backfill', 'show', id)).job?.['status'] === 'done',
    300_000,
    () => folder.output.slice(-3_000),
  );
  const { job } = await cli('backfill', 'show', id);
  expect(job).toMatchObject({ matched: TRACES, scored: TRACES, skipped: {}, failed: {}, remaining: 0 });
  expect(await countScores()).toBe(TRACES);
  const again = await cli('backfill', '--from', '1d', '--scorer', 'hallucination', '--dry-run');
  expect(again.job).toMatchObject({ remaining: 0, skipped: { already_scored: TRACES } });
  // Three calls a trace. Runs that use or wait for a call are lost by a kill: two for each call at a time, and a read of scores.
  const needless = judge.requests.length - 3 * TRACES;
  expect(needless).toBeLessThanOrEqual(KILLS * 3 * 2 * CONCURRENCY * 2);
});

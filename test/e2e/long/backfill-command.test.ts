import { afterAll, beforeAll, expect, it } from 'vitest';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { jsonLines, startCli } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { sendAnswers, ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

const TRACES = 30;

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
      // The two scorers ask the same questions: with answers that are reused, the second costs nothing.
      reuse: false,
      providers: { local: { baseURL: judge.baseUrl, concurrency: 2 } },
      prices: { 'local/judge': { input: 10, output: 10 } },
    },
    rules: [],
  });
  const { otlpHttp } = await folder.start();
  await sendAnswers({ otlpHttp }, TRACES);
  await until(
    async () => (await backfill('--scorer', 'tone', '--dry-run')).job?.['remaining'] === TRACES,
    120_000,
  );
});
afterAll(async () => {
  await folder.dispose();
  await judge.close();
});

async function cli(...args: string[]) {
  const result = await runCommand([...args, '--json', '--config', folder.configFile], { cwd: folder.path });
  return { ...result, job: jsonLines(result.stdout).at(-1) as Record<string, unknown> | undefined };
}
const backfill = (...args: string[]) => cli('backfill', '--from', '1d', ...args);

it('Ctrl-C leaves a backfill to the running serve, and says how to stop it', async () => {
  const args = ['backfill', '--from', '1d', '--scorer', 'hallucination', '--config', folder.configFile];
  const attached = startCli(args, { cwd: folder.path, stdin: '' });
  let id = '';
  await until(
    async () => {
      const { job } = await cli('backfill', 'list', '--limit', '1');
      id = String(job?.['id']);
      return Number(job?.['scored']) > 0;
    },
    300_000,
    () => attached.output.stderr,
  );
  attached.child.kill('SIGINT');
  const { code } = await attached.ended;
  expect(code).toBe(130);
  expect(attached.output.stderr).toContain(`spanscore backfill pause ${id}`);
  await until(async () => (await cli('backfill', 'show', id)).job?.['status'] === 'done', 300_000);
  const { job } = await cli('backfill', 'show', id);
  expect(job).toMatchObject({ matched: TRACES, scored: TRACES, failed: {}, remaining: 0 });
  expect(Number(job?.['costUsd'])).toBeGreaterThan(0);
});

it('a backfill stops at its money, and a later one with more goes on', async () => {
  const limited = await backfill('--scorer', 'faithfulness', '--max-cost', '0.02');
  const {
    scored = 0,
    skipped,
    costUsd = 0,
  } = (limited.job ?? {}) as {
    scored?: number;
    skipped?: Record<string, number>;
    costUsd?: number;
  };
  expect(limited.code).toBe(3);
  expect(costUsd).toBeLessThanOrEqual(0.02);
  expect(scored).toBeLessThan(TRACES);
  expect(skipped).toEqual({ max_cost: TRACES - scored });
  const rest = await backfill('--scorer', 'faithfulness', '--max-cost', '100');
  expect(rest.code).toBe(0);
  expect(rest.job).toMatchObject({ status: 'done', remaining: 0, failed: {} });
  const again = await backfill('--scorer', 'faithfulness', '--dry-run');
  expect(again.job).toMatchObject({ remaining: 0, skipped: { already_scored: TRACES } });
});

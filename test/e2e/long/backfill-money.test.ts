import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { emptyFolder, jsonLines, runCli, startCli, type RunningCli } from '../../support/processes/cli.ts';
import { newTraceId, storeFlags, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { store as ingest } from '../../support/store/stored-agent.ts';
import { until } from '../../support/until.ts';

/** Traces of each test, by their place in the history. */
const OF_RIVALS = [0, 10] as const;
const OF_KILLS = [10, 260] as const;
const OF_STOP = [260, 340] as const;
const FROM_MS = Date.now() - 24 * 3_600_000;

/** Price of a token, and real cost of each call: below the estimate. */
const TOKEN_USD = 10 / 1_000_000;
const USAGE = { prompt_tokens: 200, completion_tokens: 20 };
const CALL_USD = 220 * TOKEN_USD;
/** More than any call is expected to cost. */
const MOST_EXPECTED_USD = 5_000 * TOKEN_USD;

let world: TestStore;
let judge: JudgeServer;
const folder = emptyFolder();
const configFile = join(folder, 'spanscore.config.yaml');

beforeAll(async () => {
  world = await testStore();
  judge = await startJudgeServer(verdictJudge);
  const config = {
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: judge.baseUrl, concurrency: 4 } },
      prices: { 'local/judge': { input: 10, output: 10 } },
    },
    rules: [],
    readiness: { decisionWait: '1ms' },
  };
  writeFileSync(configFile, stringify(config));
  for (let n = 0; n < OF_STOP[1]; n += 1) {
    const trace = anAgentTrace(newTraceId(), FROM_MS + n).answering(`It is ${n} degrees in Paris.`);
    await ingest(world.store, decodeOtlpJson(trace.request()).spans);
  }
});
beforeEach(() => void judge.requests.splice(0));
afterAll(async () => {
  await judge.close();
  await world.stop();
});

/** Makes the judge answer after a delay, with the usage that is paid. */
function answerAfter(delayMs: number): void {
  judge.script(async (request) => {
    const reply = await verdictJudge(request);
    return reply.kind === 'text' ? { ...reply, delayMs, usage: USAGE } : reply;
  });
}

const buildArgs = (...args: string[]) => [
  'backfill',
  ...args,
  '--json',
  '--config',
  configFile,
  ...storeFlags(world.options),
];
const start = (...args: string[]) => startCli(buildArgs(...args), { cwd: folder, stdin: '' });
const readLast = (stdout: string) => jsonLines(stdout).at(-1) as Record<string, unknown>;
const iso = (ms: number) => new Date(ms).toISOString();
const buildRange = ([from, to]: readonly [number, number]) =>
  ['--from', iso(FROM_MS + from), '--to', iso(FROM_MS + to)].concat('--scorer', 'faithfulness');
const paidUsd = () => judge.requests.length * CALL_USD;

/** Waits until the judge has got further calls, and ends the command with a signal. */
async function endAfter(calls: number, command: RunningCli, signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
  const before = judge.requests.length;
  await until(
    () => judge.requests.length >= before + calls,
    120_000,
    () => command.output.stderr,
  );
  command.child.kill(signal);
  await command.ended;
}

it('two processes that start the same backfill at the same moment make one job, which asks once', async () => {
  answerAfter(1_000);
  const args = buildRange(OF_RIVALS);
  const ended = await Promise.all([start(...args).ended, start(...args).ended]);

  expect(ended.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0]);
  const [first, second] = ended.map(({ stdout }) => readLast(stdout));
  expect(first).toMatchObject({ status: 'done', matched: 10, scored: 10 });
  expect(second?.['id']).toBe(first?.['id']);
  expect(second).toMatchObject({ status: 'done', scored: 10 });
  expect(first?.['costUsd']).toBeCloseTo(paidUsd());
});

it('a backfill whose process is killed again and again pays no more than its money', async () => {
  answerAfter(100);
  const maxUsd = 0.8;
  const traces = OF_KILLS[1] - OF_KILLS[0];
  const first = start(...buildRange(OF_KILLS), '--max-cost', String(maxUsd));
  await endAfter(30, first, 'SIGKILL');
  const id = String(readLast(first.output.stdout)['id']);
  for (let kill = 0; kill < 3; kill += 1) {
    await endAfter(30, start('resume', id), 'SIGKILL');
  }

  const { code, stdout } = await runCli(buildArgs('resume', id), { cwd: folder });

  const job = readLast(stdout);
  const skipped = job['skipped'] as Record<string, number>;
  expect(job).toMatchObject({ id, status: 'done', matched: traces, failed: {} });
  expect(code).toBe(3);
  expect(Number(job['scored']) + (skipped['max_cost'] ?? 0)).toBe(traces);
  expect(paidUsd()).toBeLessThanOrEqual(maxUsd);
  expect(paidUsd()).toBeGreaterThan(maxUsd / 2);
});

it('a backfill that is interrupted stores what it has paid, and claims nothing for calls that it does not make', async () => {
  answerAfter(100);
  const command = start(...buildRange(OF_STOP), '--max-cost', '100');
  await endAfter(40, command, 'SIGINT');
  const id = String(readLast(command.output.stdout)['id']);

  const job = readLast((await runCli(buildArgs('show', id), { cwd: folder })).stdout);

  const costUsd = Number(job['costUsd']);
  const { claimedUsd } = job['checkpoint'] as { claimedUsd: number };
  // At most four calls were broken off. They count with their expected cost.
  expect(job).toMatchObject({ status: 'queued' });
  expect(costUsd).toBeGreaterThanOrEqual(paidUsd() - 4.01 * CALL_USD);
  expect(claimedUsd).toBeGreaterThanOrEqual(costUsd);
  expect(claimedUsd).toBeLessThan(costUsd + 4 * MOST_EXPECTED_USD);
});

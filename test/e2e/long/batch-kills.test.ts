import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startBatchServer, type BatchServer } from '../../support/fakes/batch-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder } from '../../support/processes/serve-process.ts';
import { BATCHED_SCORER, buildBatchConfig, QUESTIONS_A_TRACE } from '../../support/scoring/batch-world.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// A start after each kill, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 1_800_000 });

const TRACES = 20;

/** Calls to the provider at which every process is killed: before the provider has done the work, and after it. */
const STEPS = [
  'POST /files',
  'POST /batches',
  'GET /batches/{id}',
  'GET /files/{id}/content',
  'DELETE /files/{id}',
].flatMap((name) => [
  { name, isDone: false },
  { name, isDone: true },
]);

let server: BatchServer;
let folder: ServeFolder;

beforeAll(async () => {
  server = await startBatchServer(verdictJudge);
  folder = new ServeFolder(buildBatchConfig(server));
});
afterAll(async () => {
  await folder.dispose();
  await server.close();
});

const cli = async (...args: string[]) => {
  const result = await runCli([...args, '--json', '--config', folder.configFile], { cwd: folder.path });
  return { ...result, job: jsonLines(result.stdout).at(-1) as Record<string, unknown> | undefined };
};

it('kills at each call to the provider lose, double or make up no score, and pay no batch twice', async () => {
  const { otlpHttp } = await folder.start();
  for (let n = 0; n < TRACES; n += 1) {
    const trace = anAgentTrace().answering(`It is ${n} degrees in Paris.`);
    expect(await sendTraces(otlpHttp, trace.request())).toBe(200);
  }
  const backfill = ['backfill', '--from', '1d', '--scorer', BATCHED_SCORER];
  await until(async () => (await cli(...backfill, '--dry-run')).job?.['remaining'] === TRACES, 120_000);

  const steps = [...STEPS];
  let killed = Promise.withResolvers<void>();
  let isDown = false;
  server.fault = async ({ name }) => {
    const [step] = steps;
    if (step === undefined || isDown || name !== step.name) {
      return undefined;
    }
    isDown = true;
    steps.shift();
    await folder.killGroup();
    killed.resolve();
    return step.isDone ? 'broken' : 'refused';
  };
  const started = await cli(...backfill, '--batch', '--detach');
  expect([started.code, started.job?.['status']]).toEqual([0, 'queued']);
  for (const _ of STEPS) {
    await killed.promise;
    killed = Promise.withResolvers();
    await folder.start();
    isDown = false;
  }
  const id = String(started.job?.['id']);
  await until(
    async () => (await cli('backfill', 'show', id)).job?.['status'] === 'done' && server.files.size === 0,
    600_000,
    () => folder.output.slice(-3_000),
  );

  const { job } = await cli('backfill', 'show', id);
  expect(job).toMatchObject({ matched: TRACES, scored: TRACES, skipped: {}, failed: {}, remaining: 0 });
  const [scores] = await queryRows<{ rows: string; traces: string; usd: number }>(
    folder.addresses().clickhouse,
    `SELECT count() AS rows, uniqExact(TraceId) AS traces, sum(CostUsd) AS usd FROM scores FINAL`,
  );
  expect(scores).toMatchObject({ rows: String(TRACES), traces: String(TRACES) });
  const paid = server.paid();
  expect(new Set(paid).size).toBe(paid.length);
  expect(paid).toHaveLength(TRACES * QUESTIONS_A_TRACE);
  const chunks = server.batches.map(({ metadata }) => metadata['spanscore_chunk']);
  expect(new Set(chunks).size).toBe(chunks.length);
  expect(job?.['costUsd']).toBeCloseTo(scores?.usd ?? 0, 6);
});

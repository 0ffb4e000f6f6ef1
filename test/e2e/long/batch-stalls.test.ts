import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startBatchServer, type BatchServer } from '../../support/fakes/batch-server.ts';
import { replyJson } from '../../support/fakes/judge-server.ts';
import { startRequestGate, type RequestGate } from '../../support/fakes/request-gate.ts';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { buildBatchConfig } from '../../support/scoring/batch-world.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Two stalls, each longer than a member's life.
vi.setConfig({ testTimeout: 300_000 });

const TRACES = 6;
const SCORER = 'opinion';

/** One question for each trace. */
const SCORERS = {
  scorers: { [SCORER]: { use: 'rubric', options: { criteria: 'tells the temperature' } } },
};
const VERDICT = { criteria: [{ n: 1, satisfied: true, reasoning: 'it does' }], overallAssessment: 'good' };

/** Stop of a process that has a request under way. */
interface Stall {
  /** Resolves when the request may arrive. */
  readonly ended: Promise<void>;
  /** Lets the request arrive, and the process continue. */
  end(): void;
}

let server: BatchServer;
let gate: RequestGate;
let home: ServeFolder;
const scorers: ServeFolder[] = [];
let serve: ServeAddresses;
/** Called with each statement of the first process. */
let onStatement: (path: string) => Promise<void> = async () => undefined;

beforeAll(async () => {
  server = await startBatchServer(() => replyJson(VERDICT));
  home = new ServeFolder(buildBatchConfig(server, SCORERS), ['--role', 'store,collector,api']);
  serve = await home.start();
  gate = await startRequestGate(serve.clickhouse.url, async ({ path, body }, forward) => {
    await onStatement(`${decodeURIComponent(path)} ${body.slice(0, 200)}`);
    await forward();
    return true;
  });
});
afterAll(async () => {
  for (const folder of [...scorers, home]) {
    await folder.dispose();
  }
  await gate.close();
  await server.close();
});

async function startScorer(url = serve.clickhouse.url): Promise<ServeFolder> {
  const config = buildBatchConfig(server, { ...SCORERS, store: { ...serve.clickhouse, url } });
  const scorer = new ServeFolder(config, ['--role', 'scorer']);
  scorers.push(scorer);
  await scorer.start();
  return scorer;
}

/** Stops a process now. Its request waits until the stall ends. */
function stall({ pid }: ServeFolder): Stall {
  const ended = Promise.withResolvers<void>();
  process.kill(pid!, 'SIGSTOP');
  return {
    ended: ended.promise,
    end: () => {
      ended.resolve();
      setTimeout(() => process.kill(pid!, 'SIGCONT'), 500);
    },
  };
}

const cli = async (...args: string[]) => {
  const result = await runCli([...args, '--json', '--config', home.configFile], { cwd: home.path });
  return jsonLines(result.stdout).at(-1) as Record<string, unknown> | undefined;
};

it('processes that stall before they store questions, and before they create a batch, send no question twice', async () => {
  for (let n = 0; n < TRACES; n += 1) {
    const trace = anAgentTrace().answering(`It is ${n} degrees in Paris.`);
    expect(await sendTraces(serve.otlpHttp, trace.request())).toBe(200);
  }
  const first = await startScorer(gate.url);

  const atStore = Promise.withResolvers<Stall>();
  onStatement = async (statement) => {
    if (/INSERT INTO .*judge_batch_requests/s.test(statement)) {
      onStatement = async () => undefined;
      const stalled = stall(first);
      atStore.resolve(stalled);
      await stalled.ended;
    }
  };
  const atProvider = Promise.withResolvers<Stall>();
  server.fault = async ({ name, count }) => {
    if (name === 'POST /batches' && count === 1) {
      const stalled = stall(scorers[1]!);
      atProvider.resolve(stalled);
      await stalled.ended;
    }
    return undefined;
  };
  server.end = () => undefined;
  const backfill = ['backfill', '--from', '1d', '--scorer', SCORER, '--batch', '--detach'];
  const id = String((await cli(...backfill))?.['id']);
  const late = await atStore.promise;
  await startScorer();
  const later = await atProvider.promise;
  // The questions of the first process arrive while the second one sends the same questions.
  late.end();
  await until(
    () => server.batches.length === 1,
    60_000,
    () => first.output.slice(-3_000),
  );
  // The provider gets the order of the second process for a batch that the first one has created meanwhile.
  later.end();
  await until(
    () => server.calls.some(({ name, count }) => name === 'GET /batches/{id}' && count > 2),
    60_000,
  );
  server.end = () => ({});
  const isDone = `SELECT Id FROM jobs FINAL WHERE Id = '${id}' AND Status = 'done'`;
  await until(async () => (await queryRows(serve.clickhouse, isDone)).length === 1, 60_000);

  expect(await cli('backfill', 'show', id)).toMatchObject({
    matched: TRACES,
    scored: TRACES,
    failed: {},
    batchError: null,
  });
  expect(server.calls.filter(({ name }) => name === 'POST /batches')).toHaveLength(2);
  expect(server.batches.map(({ status, customIds }) => [status, customIds.length])).toEqual([
    ['completed', TRACES],
  ]);
  expect(server.paid()).toHaveLength(TRACES);
  await until(() => server.files.size === 0);
  const [scores] = await queryRows<{ rows: string }>(
    serve.clickhouse,
    'SELECT count() AS rows FROM scores FINAL',
  );
  expect(scores?.rows).toBe(String(TRACES));
});

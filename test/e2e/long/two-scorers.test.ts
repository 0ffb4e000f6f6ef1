import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import {
  startJudgeServer,
  type JudgeServer,
  type JudgeServerRequest,
} from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { sendAnswers, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

const judges: JudgeServer[] = [];
const folders: ServeFolder[] = [];
afterAll(async () => {
  for (const folder of folders.toReversed()) {
    await folder.dispose();
  }
  await Promise.all(judges.map((judge) => judge.close()));
});

/** Starts a judge. Returns it, configurations that ask it, and folders with them. */
async function openWorld() {
  const judge = await startJudgeServer(verdictJudge);
  judges.push(judge);
  const judged = (model: string, scorers: readonly string[] = ['hallucination'], path = '') => ({
    judges: {
      default: `local/${model}`,
      providers: { local: { baseURL: judge.baseUrl.replace('/v1', `${path}/v1`), concurrency: 16 } },
    },
    rules: [{ name: 'all', scorers }],
  });
  const serveFolder = (config: Record<string, unknown>): ServeFolder => {
    const folder = new ServeFolder({ ...judged('judge'), ...config });
    folders.push(folder);
    return folder;
  };
  return { judge, judged, serveFolder };
}

function openStore({ clickhouse }: ServeAddresses) {
  const count = async (sql: string) => Number((await queryRows<{ n: string }>(clickhouse, sql))[0]?.n);
  const scores = () =>
    queryRows<{ ScoreId: string; Score: number }>(
      clickhouse,
      'SELECT ScoreId, Score FROM scores FINAL ORDER BY ScoreId',
    );
  const waitForScores = (n: number, scorer: string, folder: ServeFolder) =>
    until(
      async () =>
        (await count(
          `SELECT count() AS n FROM decisions FINAL WHERE Scorer = '${scorer}' AND Status = 'scored'`,
        )) >= n,
      300_000,
      () => folder.output.slice(-3_000),
    );
  return { count, scores, waitForScores };
}

// Most of the time is waiting for stalls to be noticed.
it.concurrent('a changed judge over a restart judges no recent trace again', async () => {
  const { judge, judged, serveFolder } = await openWorld();
  const folder = serveFolder({});
  const before = await folder.start();
  await sendAnswers(before, 40);
  await openStore(before).waitForScores(40, 'hallucination', folder);
  const scores = await openStore(before).scores();
  const calls = judge.requests.length;
  await folder.stop();
  folder.configure(judged('another-judge'));
  const store = openStore(await folder.start());
  await sendAnswers(folder.addresses(), 5);
  await store.waitForScores(45, 'hallucination', folder);

  expect(await store.count('SELECT count() AS n FROM scores FINAL')).toBe(45);
  expect(await store.count('SELECT uniqExact(TraceId) AS n FROM scores FINAL')).toBe(45);
  const kept = new Set(scores.map(({ ScoreId }) => ScoreId));
  expect((await store.scores()).filter(({ ScoreId }) => kept.has(ScoreId))).toEqual(scores);
  expect(judge.requests.length - calls).toBe((calls / 40) * 5);
});

it.concurrent('a scorer that stalls with judge calls in flight asks no more, and changes no score that another has written meanwhile', async () => {
  const { judge, judged, serveFolder } = await openWorld();
  const first = serveFolder({});
  const addresses = await first.start();
  const second = serveFolder({
    ...judged('judge', ['hallucination'], '/second'),
    store: addresses.clickhouse,
  });
  await second.start();
  await until(() => first.output.includes('scorer processes changed'), 60_000);
  // Past the notice of the join, so that each scores its own traces.
  await sleep(8_000);
  const asksForVerdicts = ({ path, body }: JudgeServerRequest) =>
    path.startsWith('/second/') && JSON.stringify(body.response_format ?? '').includes('verdicts');
  // The judge of the second answers after the stall, and the opposite.
  const stall = Promise.withResolvers<void>();
  judge.script(async (request) => {
    const reply = await verdictJudge(request);
    if (reply.kind !== 'text' || request.path.startsWith('/second/')) {
      await (asksForVerdicts(request) ? stall.promise : undefined);
      return reply;
    }
    return { ...reply, text: reply.text?.replaceAll('"verdict":"yes"', '"verdict":"no"') ?? null };
  });
  await sendAnswers(addresses, 24);
  await until(() => judge.requests.filter(asksForVerdicts).length >= 4, 60_000);
  process.kill(second.pid!, 'SIGSTOP');
  const store = openStore(addresses);
  await store.waitForScores(24, 'hallucination', first);
  const scores = await store.scores();
  const countCalls = () => judge.requests.filter(({ path }) => path.startsWith('/second/')).length;
  const calls = countCalls();
  stall.resolve();
  process.kill(second.pid!, 'SIGCONT');
  await until(() => second.output.includes('scorer processes changed'), 60_000);
  await sleep(25_000);

  // It lost the traces: it asks nothing more about them, but for questions that were about to leave at the stop. All traces came at once.
  expect(countCalls() - calls).toBeLessThanOrEqual(4);
  expect(await store.scores()).toEqual(scores);
  expect(new Set(scores.map(({ Score }) => Score)).size).toBe(1);
  expect(await store.count('SELECT count() AS n FROM decisions FINAL')).toBe(24);
});

it.concurrent('a rolling deploy that adds a scorer leaves no trace without its decision', async () => {
  const { judged, serveFolder } = await openWorld();
  const first = serveFolder(judged('judge', ['completeness']));
  const addresses = await first.start();
  const second = serveFolder({
    ...judged('judge', ['completeness', 'content-similarity']),
    store: addresses.clickhouse,
  });
  await second.start();
  await until(() => first.output.includes('scorer processes changed'), 60_000);
  await sendAnswers(addresses, 40);
  const store = openStore(addresses);
  await store.waitForScores(40, 'completeness', first);
  await store.waitForScores(40, 'content-similarity', second);

  expect(await store.count('SELECT count() AS n FROM decisions FINAL')).toBe(80);
  expect(await store.count('SELECT count() AS n FROM scores FINAL')).toBe(80);
});

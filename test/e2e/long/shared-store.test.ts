import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { sendTraces, ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';

const TRACES = 60;
/** Claims, verdicts and the explanation. */
const CALLS_PER_SCORE = 3;

// Several waits of minutes, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

let judge: JudgeServer;
const folders: ServeFolder[] = [];

beforeAll(async () => {
  judge = await startJudgeServer(verdictJudge);
});

afterAll(async () => {
  for (const folder of folders.reverse()) {
    await folder.dispose();
  }
  await judge.close();
});

function serveFolder(config: Record<string, unknown>): ServeFolder {
  const folder = new ServeFolder({
    judges: { default: 'local/judge', providers: { local: { baseURL: judge.baseUrl, concurrency: 16 } } },
    rules: [{ name: 'all', scorers: ['hallucination'] }],
    ...config,
  });
  folders.push(folder);
  return folder;
}

it('two processes on one store give every trace one current row, and pay the judge at most 5 % more than once', async () => {
  const first = serveFolder({});
  const { clickhouse, otlpHttp } = await first.start();
  const second = serveFolder({ store: clickhouse });
  const other = await second.start();
  // Until the first has noticed the second, it takes all traces for its own: two owners for a moment.
  await until(
    () => first.output.includes('scorer processes changed'),
    60_000,
    () => first.output,
  );
  const traces = Array.from({ length: TRACES }, (_, n) =>
    anAgentTrace().answering(`It is ${n} degrees in Paris.`),
  );

  for (const [n, trace] of traces.entries()) {
    expect(await sendTraces(n % 2 === 0 ? otlpHttp : other.otlpHttp, trace.request())).toBe(200);
  }

  const count = async (sql: string) => Number((await queryRows<{ n: string }>(clickhouse, sql))[0]?.n);
  await until(
    async () => (await count(`SELECT count() AS n FROM decisions FINAL WHERE Status = 'scored'`)) >= TRACES,
    240_000,
    () => [first.output.slice(-1000), second.output.slice(-1000)],
  );
  expect(await count('SELECT count() AS n FROM decisions FINAL')).toBe(TRACES);
  expect(await count('SELECT count() AS n FROM scores FINAL')).toBe(TRACES);
  expect(await count('SELECT uniqExact(TraceId) AS n FROM scores FINAL')).toBe(TRACES);
  expect(judge.requests.length).toBeGreaterThanOrEqual(TRACES * CALLS_PER_SCORE);
  expect(judge.requests.length).toBeLessThanOrEqual(TRACES * CALLS_PER_SCORE * 1.05);
});

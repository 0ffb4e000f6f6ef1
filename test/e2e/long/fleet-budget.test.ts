import { afterAll, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { replyJson, startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Several starts of three processes, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 300_000 });

/** USD per million tokens. */
const PRICE = { input: 1, output: 10 };
const USD_PER_INPUT_TOKEN = PRICE.input / 1e6;
const USD_PER_OUTPUT_TOKEN = PRICE.output / 1e6;
const PROMPT_TOKENS = 300;
const ESTIMATED_OUTPUT_TOKENS = 500;

const folders: ServeFolder[] = [];
const judges: JudgeServer[] = [];

afterAll(async () => {
  for (const folder of folders.reverse()) {
    await folder.dispose();
  }
  await Promise.all(judges.map((judge) => judge.close()));
});

/** Starts a judge whose replies all have this number of output tokens, the hidden reasoning included. */
async function startCostlyJudge(outputTokens: number, delayMs: number): Promise<JudgeServer> {
  const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: outputTokens };
  const judge = await startJudgeServer(async (request) => {
    const reply = await verdictJudge(request);
    return reply.kind === 'text' ? { ...reply, usage, delayMs } : replyJson({});
  });
  judges.push(judge);
  return judge;
}

async function startFleet(judge: JudgeServer, perDayUsd: number): Promise<ServeAddresses[]> {
  const config = {
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: judge.baseUrl, concurrency: 16 } },
      prices: { 'local/judge': PRICE },
    },
    rules: [{ name: 'all', scorers: ['hallucination'], budget: { perDay: perDayUsd } }],
  };
  const owner = new ServeFolder(config);
  folders.push(owner);
  const first = await owner.start();
  const others = [1, 2].map(() => new ServeFolder({ ...config, store: first.clickhouse }));
  folders.push(...others);
  return [first, ...(await Promise.all(others.map((folder) => folder.start())))];
}

it.each([
  // 16 calls fit by their estimates, and all of them may be under way at the same time.
  ['more than twice their estimate', { outputTokens: 1_500, delayMs: 2_000, capUsd: 0.1, leastUsd: 0.05 }],
  ['a tenth of their estimate', { outputTokens: 10, delayMs: 50, capUsd: 0.1, leastUsd: 0.09 }],
])(
  'three processes whose calls cost %s spend one budget, and above it at most by their first calls',
  async (_cost, terms) => {
    const { outputTokens, delayMs, capUsd, leastUsd } = terms;
    const judge = await startCostlyJudge(outputTokens, delayMs);
    const fleet = await startFleet(judge, capUsd);
    const [first] = fleet as [ServeAddresses];
    const traces = Array.from({ length: 150 }, (_, n) => anAgentTrace().answering(`It is ${n} degrees.`));
    const statuses = traces.map((trace, n) => sendTraces(fleet[n % fleet.length]!.otlpHttp, trace.request()));
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
    const count = async (sql: string) =>
      Number((await queryRows<{ n: string }>(first.clickhouse, sql))[0]?.n);
    await until(
      async () => (await count('SELECT uniqExact(TraceId) AS n FROM decisions FINAL')) >= traces.length,
      120_000,
      () => folders.map(({ output }) => output.slice(-800)),
    );

    const callUsd = PROMPT_TOKENS * USD_PER_INPUT_TOKEN + outputTokens * USD_PER_OUTPUT_TOKEN;
    const spentUsd = judge.requests.length * callUsd;
    // The first call of each process is reserved at its estimate, because its real cost is not known yet.
    const firstCallsOverUsd =
      fleet.length * Math.max(0, callUsd - ESTIMATED_OUTPUT_TOKENS * USD_PER_OUTPUT_TOKEN);
    expect(spentUsd).toBeLessThanOrEqual(capUsd + firstCallsOverUsd + 1e-9);
    expect(spentUsd).toBeGreaterThanOrEqual(leastUsd);
    expect(
      await count("SELECT count() AS n FROM decisions FINAL WHERE Reason LIKE 'budget_exhausted%'"),
    ).toBeGreaterThan(0);

    for (const folder of folders.splice(0).reverse()) {
      expect(await folder.stop()).toBe(0);
      await folder.dispose();
    }
  },
);

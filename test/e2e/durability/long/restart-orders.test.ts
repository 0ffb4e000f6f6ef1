import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { queryRows } from '../../../support/store/clickhouse-query.ts';
import { reportFigures } from '../../../support/durability/report-figures.ts';
import { RestartOrders } from '../../../support/durability/restart-orders.ts';
import { freePorts } from '../../../support/processes/free-ports.ts';
import { type JudgeServer, startJudgeServer } from '../../../support/fakes/judge-server.ts';
import { seededRandom } from '../../../support/builders/score-streams.ts';
import { ServeFolder } from '../../../support/processes/serve-process.ts';
import { until } from '../../../support/until.ts';
import { verdictJudge } from '../../../support/fakes/verdict-judge.ts';

// The whole proof is `npm run test:endurance`. SPANSCORE_SEED repeats the random choices of a run.

const ORDERS = Number(process.env['SPANSCORE_ORDERS'] ?? 4);
const SEED = Number(process.env['SPANSCORE_SEED'] ?? Date.now() % 1_000_000);
const ORDER_MS = 300_000;
/** Calls are under way whenever a process is told to end. */
const JUDGE_MS = 2_000;
const ALL_SCORED_WITHIN_MS = 600_000;

let judge: JudgeServer;
let folder: ServeFolder;
let orders: RestartOrders;

beforeAll(async () => {
  judge = await startJudgeServer(async (request) => {
    const reply = await verdictJudge(request);
    return reply.kind === 'text' ? { ...reply, delayMs: JUDGE_MS } : reply;
  });
  const [http, grpc, api] = await freePorts(3);
  const at = (port: number | undefined) => ({ endpoint: `127.0.0.1:${port}` });
  folder = new ServeFolder({
    receivers: { otlp: { http: at(http), grpc: at(grpc) } },
    api: at(api),
    judges: { default: 'local/judge', providers: { local: { baseURL: judge.baseUrl, concurrency: 16 } } },
    rules: [{ name: 'all', scorers: ['hallucination'] }],
  });
  const findEngine = (ownerPid: number): number | undefined => {
    try {
      const file = readFileSync(join(folder.dataDir, 'engine.json'), 'utf8');
      const engine = JSON.parse(file) as { pid: number; ownerPid: number };
      return engine.ownerPid === ownerPid ? engine.pid : undefined;
    } catch {
      return undefined;
    }
  };
  orders = new RestartOrders(folder.path, seededRandom(SEED), findEngine);
});

afterAll(async () => {
  await orders?.dispose();
  await folder?.dispose();
  await judge?.close();
});

it(
  `one of two processes serves after each of ${ORDERS} random orders of starts, stops and kills, and nothing is lost (seed ${SEED})`,
  { timeout: ALL_SCORED_WITHIN_MS + ORDERS * ORDER_MS },
  async () => {
    const startedMs = performance.now();
    for (let order = 0; order < ORDERS; order += 1) {
      await orders.run();
    }

    const { acknowledged, figures } = orders;
    const { clickhouse } = folder.addresses();
    const ids = async (sql: string) =>
      new Set((await queryRows<{ TraceId: string }>(clickhouse, sql)).map((row) => row.TraceId));
    const stored = await ids('SELECT DISTINCT TraceId FROM otel_traces');
    const lost = acknowledged.filter((id) => !stored.has(id));
    expect(lost).toEqual([]);
    const unscored = async () => {
      const scored = await ids(`SELECT DISTINCT TraceId FROM decisions FINAL WHERE Status = 'scored'`);
      return acknowledged.filter((id) => !scored.has(id));
    };
    await until(
      async () => (await unscored()).length === 0,
      ALL_SCORED_WITHIN_MS,
      () => acknowledged.length,
    );
    reportFigures('restart orders', {
      ...figures,
      seed: SEED,
      minutes: Math.round((performance.now() - startedMs) / 6_000) / 10,
      acknowledged: acknowledged.length,
      lost: lost.length,
    });
  },
);

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { anAgentTrace, type AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';

// Several waits of minutes, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

let judge: JudgeServer;
let folder: ServeFolder;
let serve: ServeAddresses;
let startedMs: number;

beforeAll(async () => {
  judge = await startJudgeServer(verdictJudge);
  folder = new ServeFolder({
    judges: { default: 'local/judge', providers: { local: { baseURL: judge.baseUrl, concurrency: 16 } } },
    rules: [{ name: 'all', scorers: ['hallucination'] }],
  });
  serve = await folder.start();
  startedMs = Date.now();
});

afterAll(async () => {
  await folder.dispose();
  await judge.close();
});

/** Decisions are written after the scores that they are about. */
const DECIDED = { timeout: 60_000 };

const HELD_BACK_MS = 30_000;

interface ScoreRow {
  ScoreId: string;
  Revision: number;
  Score: number;
}

const listScores = ({ traceId }: AgentTraceBuilder) =>
  queryRows<ScoreRow>(
    serve.clickhouse,
    `SELECT ScoreId, Revision, Score FROM scores FINAL WHERE TraceId = '${traceId}'`,
  );

const listStatuses = async ({ traceId }: AgentTraceBuilder) =>
  (
    await queryRows<{ Status: string }>(
      serve.clickhouse,
      `SELECT Status FROM decisions FINAL WHERE TraceId = '${traceId}'`,
    )
  ).map((row) => row.Status);

async function scored(trace: AgentTraceBuilder, revision = 1): Promise<ScoreRow> {
  await until(
    async () => (await listScores(trace)).some((row) => row.Revision === revision),
    120_000,
    () => folder.output.slice(-1500),
  );
  const rows = await listScores(trace);
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

/** The newest arrival that the decision has seen, as the store tells it. */
async function evidenceUntil({ traceId }: AgentTraceBuilder): Promise<string> {
  const rows = await queryRows<{ at: string }>(
    serve.clickhouse,
    `SELECT toString(max(EvidenceUntil)) AS at FROM decisions FINAL WHERE TraceId = '${traceId}'`,
  );
  return rows[0]?.at ?? '';
}

describe('spans that come late', () => {
  it('replace the score of a trace when they tell something new, as revision 2 of the same score', async () => {
    const trace = anAgentTrace().with({ name: 'get_wind', args: { city: 'Paris' }, result: { kmh: 12 } });
    const [root, chat, weather, wind, answer] = trace.spans();
    await sendTraces(serve.otlpHttp, trace.request([answer!, weather!, chat!, root!]));
    const first = await scored(trace);

    await sendTraces(serve.otlpHttp, trace.request([wind!]));
    const second = await scored(trace, 2);

    expect(second.ScoreId).toBe(first.ScoreId);
    await expect.poll(() => listStatuses(trace), DECIDED).toEqual(['scored']);
  });

  it('ask no judge when they add no new content', async () => {
    const trace = anAgentTrace();
    await sendTraces(serve.otlpHttp, trace.request());
    await scored(trace);
    await expect.poll(() => listStatuses(trace), DECIDED).toEqual(['scored']);
    const before = await evidenceUntil(trace);
    const asked = judge.requests.length;

    await sendTraces(serve.otlpHttp, trace.request());
    await until(
      async () => (await evidenceUntil(trace)) > before,
      120_000,
      () => folder.output.slice(-1500),
    );

    expect(judge.requests).toHaveLength(asked);
    expect((await scored(trace)).Revision).toBe(1);
  });
});

describe('nothing is missed', () => {
  it.each([
    ['an hour ahead', Date.now() + 3_600_000],
    ['an hour behind', Date.now() - 3_600_000],
    ['in 1970', 1000],
    ['in 2262', Date.UTC(2262, 3, 10)],
  ])('of a sender whose clock is %s', async (_when, startMs) => {
    const trace = anAgentTrace(undefined, startMs);
    expect(await sendTraces(serve.otlpHttp, trace.request())).toBe(200);

    await scored(trace);
    await expect.poll(() => listStatuses(trace), DECIDED).toEqual(['scored']);
  });

  it('of one request with 200 distinct days', async () => {
    const traces = Array.from({ length: 200 }, (_, day) =>
      anAgentTrace(undefined, Date.UTC(2020, 0, 1) + day * 86_400_000),
    );
    const request = {
      resourceSpans: traces.flatMap(
        (trace) => (trace.request() as { resourceSpans: unknown[] }).resourceSpans,
      ),
    };
    expect(await sendTraces(serve.otlpHttp, request)).toBe(200);

    const ids = traces.map((trace) => `'${trace.traceId}'`).join();
    await until(
      async () => {
        const [row] = await queryRows<{ n: string }>(
          serve.clickhouse,
          `SELECT count() AS n FROM decisions FINAL WHERE Status = 'scored' AND TraceId IN (${ids})`,
        );
        return Number(row?.n) === traces.length;
      },
      300_000,
      () => folder.output.slice(-1500),
    );
  });

  it('of inserts that were held back for 30 s and commit out of order', async () => {
    // Live scoring covers what arrives after its rule was first loaded: the stamp must not lie before.
    await until(() => Date.now() - startedMs > HELD_BACK_MS + 2000, HELD_BACK_MS + 5000);
    const early = anAgentTrace();
    const held = anAgentTrace();
    await sendTraces(serve.otlpHttp, early.request());
    await scored(early);
    // As an insert that was stamped half a minute ago and commits only now, after others that were stamped later.
    const columns = [
      'TraceId',
      'SpanId',
      'ParentSpanId',
      'SpanName',
      'ServiceName',
      'SpanAttributes',
      'Timestamp',
    ];
    const source = await queryRows<Record<string, unknown>>(
      serve.clickhouse,
      `SELECT ${columns.join()} FROM otel_traces WHERE TraceId = '${early.traceId}'`,
    );
    const rows = source.map((row) => ({
      ...row,
      TraceId: held.traceId,
      ArrivedAt: new Date(Date.now() - HELD_BACK_MS).toISOString().replace('T', ' ').replace('Z', ''),
    }));
    await insertRows(rows);

    await scored(held);
    await expect.poll(() => listStatuses(held), DECIDED).toEqual(['scored']);
  });
});

async function insertRows(rows: object[]): Promise<void> {
  const url = new URL(serve.clickhouse.url);
  url.searchParams.set('database', serve.clickhouse.database);
  url.searchParams.set('query', 'INSERT INTO otel_traces FORMAT JSONEachRow');
  const { username, password } = serve.clickhouse;
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    body: rows.map((row) => JSON.stringify(row)).join('\n'),
  });
  expect([response.status, await response.text()]).toEqual([200, '']);
}

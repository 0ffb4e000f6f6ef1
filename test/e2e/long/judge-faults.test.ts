import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { runCli } from '../../support/processes/cli.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { ANSWER_FAULTS, verdictJudge } from '../../support/fakes/verdict-judge.ts';

// Several waits, on a machine that is busy with other things. Traces of different faults wait side by side.
vi.setConfig({ testTimeout: 900_000 });

let judge: JudgeServer;
let folder: ServeFolder;
let serve: ServeAddresses;

beforeAll(async () => {
  judge = await startJudgeServer(verdictJudge);
  folder = new ServeFolder({
    judges: {
      default: 'local/judge',
      providers: { local: { baseURL: judge.baseUrl } },
      prices: { 'local/judge': { input: 0, output: 0 } },
      attempts: 2,
    },
    // A judge that costs nothing is never held back.
    rules: [{ name: 'all', scorers: ['hallucination', 'keyword-coverage'], budget: { perDay: 0.0001 } }],
  });
  serve = await folder.start();
});

afterAll(async () => {
  await folder.dispose();
  await judge.close();
});

function status(...args: string[]) {
  return runCli(['status', ...args], { cwd: folder.path });
}

interface Row {
  Scorer: string;
  Status: string;
  Reason: string;
  Again: number;
}

function listDecisions(traceId: string): Promise<Row[]> {
  return queryRows<Row>(
    serve.clickhouse,
    `SELECT Scorer, Status, Reason, NextAttemptAt IS NOT NULL AS Again
     FROM decisions FINAL WHERE TraceId = '${traceId}' ORDER BY Scorer`,
  );
}

/** Without those of scorers that still run. */
async function listSettledDecisions(traceId: string): Promise<Row[]> {
  return (await listDecisions(traceId)).filter((row) => !row.Reason.startsWith('in_progress'));
}

async function listScores(traceId: string): Promise<string[]> {
  const rows = await queryRows<{ Scorer: string }>(
    serve.clickhouse,
    `SELECT Scorer FROM scores FINAL WHERE TraceId = '${traceId}' ORDER BY Scorer`,
  );
  return rows.map((row) => row.Scorer);
}

/** Result of each fault: `deferred` is tried again, `failed` is final for these spans. */
const OUTCOMES: Record<string, [code: string, status: string]> = {
  garbage: ['judge_malformed', 'deferred'],
  unauthorised: ['judge_unauthorised', 'deferred'],
  'rate-limited': ['judge_rate_limited', 'deferred'],
  'server-error': ['judge_unavailable', 'deferred'],
  html: ['judge_unavailable', 'deferred'],
  refusal: ['judge_refused', 'failed'],
  nothing: ['judge_malformed', 'deferred'],
  'break-off': ['judge_unavailable', 'deferred'],
  'wrong-schema': ['judge_malformed', 'deferred'],
};

describe('a judge that fails', () => {
  it.concurrent.each(Object.keys(ANSWER_FAULTS))(
    'with %s leaves a decision with its reason and no score, and the code scorer scores all the same',
    async (fault) => {
      const trace = anAgentTrace().answering(`It is 18 degrees in Paris, fault:${fault}.`);
      const neighbour = anAgentTrace().answering(`It is 18 degrees beside ${fault}.`);
      expect(await sendTraces(serve.otlpHttp, trace.request())).toBe(200);
      // What was seen then: what is deferred may already be tried again a moment later.
      let settled: Row[] = [];
      await until(
        async () => (settled = await listSettledDecisions(trace.traceId)).length === 2,
        120_000,
        () => folder.output.slice(-1500),
      );

      const [judged, coded] = settled;
      expect(coded).toMatchObject({ Scorer: 'keyword-coverage', Status: 'scored' });
      expect([judged?.Reason.split(':')[0], judged?.Status]).toEqual(OUTCOMES[fault]);
      expect(judged?.Again).toBe(judged?.Status === 'deferred' ? 1 : 0);
      expect(await listScores(trace.traceId)).toEqual(['keyword-coverage']);

      expect(folder.output).toMatch(/WARN {2}judge fails judge=local\/judge scorer=hallucination kind=/);
      await sendTraces(serve.otlpHttp, neighbour.request());
      await until(
        async () => (await listScores(neighbour.traceId)).includes('hallucination'),
        120_000,
        () => folder.output.slice(-1500),
      );
    },
  );

  it.concurrent('with garbage is asked as often as judges.attempts says, and the decision fails for good then', async ({
    expect: ofTest,
  }) => {
    const trace = anAgentTrace().answering('It is 18 degrees in Rome, fault:garbage.');
    await sendTraces(serve.otlpHttp, trace.request());
    const judged = async () =>
      (await listDecisions(trace.traceId)).find(
        (row) => row.Scorer === 'hallucination' && row.Status === 'failed',
      );
    await ofTest.poll(judged, { timeout: 240_000, interval: 1_000 }).toMatchObject({
      Reason: expect.stringMatching(/^judge_malformed: try 2 of 2: /),
      Again: 0,
    });
  });

  it('is seen in the log and in /metrics, by judge, scorer and kind', async () => {
    expect(folder.output).toMatch(/judge fails judge=local\/judge scorer=hallucination kind="HTTP 401"/);
    expect(folder.output).toMatch(/judge works again judge=local\/judge scorer=hallucination failures=\d+/);
    const page = await (await fetch(`${serve.api}/metrics`)).text();
    for (const kind of ['HTTP 401', 'HTTP 429', 'HTTP 500', 'web page', 'malformed reply', 'refusal']) {
      expect(page).toContain(
        `spanscore_judge_failures_total{judge="local/judge",scorer="hallucination",kind="${kind}"}`,
      );
    }
    expect(page).toMatch(/spanscore_judge_failing\{judge="local\/judge",scorer="hallucination"\} [01]/);
  });

  it('is asked again, and a deferred decision becomes a score when the judge works again', async () => {
    let broken = true;
    judge.script((request) => (broken ? ANSWER_FAULTS['server-error']!() : verdictJudge(request)));
    const trace = anAgentTrace().answering('It is 30 degrees in Paris.');
    await sendTraces(serve.otlpHttp, trace.request());
    await until(
      async () => (await listSettledDecisions(trace.traceId)).some((row) => row.Status === 'deferred'),
      120_000,
      () => folder.output.slice(-1500),
    );

    const [failing, shown] = await Promise.all([status('--json'), status()]);
    expect(JSON.parse(failing.stdout)).toMatchObject({
      serve: { pid: serve.pid, ready: true },
      judges: expect.arrayContaining([
        expect.objectContaining({ judge: 'local/judge', scorer: 'hallucination', state: 'failing' }),
      ]),
      budgets: [{ rule: 'all', spentUsd: 0, reservedUsd: 0, capUsd: 0.0001 }],
      store: { rows: { scores: expect.any(Number) } },
    });
    expect(shown.stdout).toMatch(/judges +local\/judge for hallucination fails since .*× HTTP 500/);
    expect(shown.stdout).toMatch(/budget +rule all: 0 of 0\.0001 USD spent/);
    expect(shown.stdout).toMatch(/scoring +traces: \d+ still arriving/);

    broken = false;
    await until(
      async () => (await listScores(trace.traceId)).includes('hallucination'),
      120_000,
      () => folder.output.slice(-1500),
    );

    const statuses = async () => (await listDecisions(trace.traceId)).map((row) => row.Status);
    await expect.poll(statuses, { timeout: 60_000 }).toEqual(['scored', 'scored']);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { anAgentTrace, type AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { callOn, framed, grpcConnection } from '../../support/collector/grpc-call.ts';
import { startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';
import { verdictJudge } from '../../support/fakes/verdict-judge.ts';
import { runCli, startCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { findTexts } from '../../support/store/find-texts.ts';
import { until } from '../../support/until.ts';

const SCORERS = ['hallucination', 'keyword-coverage', 'no-tool-errors'];

/** Runs of a person; the question names the person, and a session holds two of them. */
function runsOf(person: string, count = 6): AgentTraceBuilder[] {
  return Array.from({ length: count }, (_, index) =>
    anAgentTrace()
      .asking(`Where is umbrella ${index} of ${person}?`)
      .withAttributes({ 'user.id': person, 'gen_ai.conversation.id': `${person}-chat-${index % 3}` }),
  );
}

const configOf = ({ baseUrl: baseURL }: JudgeServer) => ({
  judges: {
    default: 'local/judge',
    // More places than the load asks for, also on a busy machine: a trace that waited for a place would wait until the load ends.
    providers: { local: { baseURL, concurrency: 16 } },
    prices: { 'local/judge': { input: 0, output: 0 } },
  },
  rules: [
    { name: 'all', scorers: SCORERS },
    { name: 'sessions', target: 'session', scorers: ['no-tool-errors'] },
  ],
  readiness: { session: { idle: '1s' } },
});

// A purge deletes once more 45 s after the first time: all wait at the same time.
describe('a purge', () => {
  let judge: JudgeServer;
  let folder: ServeFolder;
  let serve: ServeAddresses;
  const stopping = new AbortController();
  let load: Promise<void>;
  const refused: number[] = [];

  beforeAll(async () => {
    // A slow judge: traces are under way whenever a purge begins.
    judge = await startJudgeServer((call) => {
      const reply = verdictJudge(call);
      return 'kind' in reply && reply.kind === 'text' ? { ...reply, delayMs: 1_000 } : reply;
    });
    folder = new ServeFolder(configOf(judge));
    serve = await folder.start();
    load = sendAlways();
  });

  afterAll(async () => {
    stopping.abort();
    await load;
    await folder.dispose();
    await judge.close();
  });

  /** Traffic of another person until the end. */
  async function sendAlways(): Promise<void> {
    while (!stopping.signal.aborted) {
      await Promise.all(runsOf('bob', 2).map((run) => sendTraces(serve.otlpHttp, run.request()))).catch(() =>
        refused.push(503),
      );
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }

  async function countRows(
    table: string,
    where: string,
    { clickhouse }: ServeAddresses = serve,
  ): Promise<number> {
    const [row] = await queryRows<{ n: string }>(
      clickhouse,
      `SELECT count() AS n FROM ${table} FINAL WHERE ${where}`,
    );
    return Number(row?.n);
  }

  const purge = (...args: string[]) =>
    runCli(['purge', ...args, '--yes', '--json', '--config', folder.configFile], { cwd: folder.path });

  const textsOf = (person: string, runs: readonly AgentTraceBuilder[]) => [
    ...runs.map(({ traceId }) => traceId),
    `of ${person}?`,
    `${person}-chat`,
    `"${person}"`,
  ];

  it.concurrent('beside a running serve leaves nothing of a user in any column, with scorers at work on the traces', async () => {
    const runs = runsOf('ann');
    await Promise.all(runs.map((run) => sendTraces(serve.otlpHttp, run.request())));
    await until(async () => (await countRows('scores', "UserId = 'ann'")) > 3);
    const late = setInterval(() => {
      runs.forEach((run) => void sendTraces(serve.otlpHttp, run.request()).catch(() => refused.push(500)));
    }, 1_500);
    const { code, stdout, stderr } = await purge('--user', 'ann');
    clearInterval(late);

    expect(stderr).not.toContain('error');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      job: expect.any(String),
      rows: { otel_traces: expect.any(Number) },
    });
    expect(await findTexts(serve.clickhouse, textsOf('ann', runs))).toEqual([]);
    // Late spans that came all the time were neither stored nor sent back.
    expect(refused).toEqual([]);
    expect(await countRows('scores', "UserId = 'bob'")).toBeGreaterThan(0);
    const { body, status } = await callLate(runs[0]!);
    expect(status).toBe(0);
    expect(body.toString()).toContain('of purged traces');
  });

  async function callLate(run: AgentTraceBuilder) {
    const session = grpcConnection({ host: '127.0.0.1', port: Number(new URL(serve.otlpGrpc).port) });
    const reply = await callOn(session, { body: framed(requestBytes(run.request() as never)) });
    session.close();
    return reply;
  }

  it.concurrent('beside a running serve scores a session again from the turns of another person', async () => {
    const [first, second] = [runsOf('carl', 1)[0]!, runsOf('dora', 1)[0]!];
    const inChat = (run: AgentTraceBuilder) => run.withAttributes({ 'gen_ai.conversation.id': 'family' });
    await Promise.all([first, second].map((run) => sendTraces(serve.otlpHttp, inChat(run).request())));
    await until(async () => (await countRows('scores', "TargetId = 'family'")) === 1);
    const turns = "Target = 'session' AND TargetId = 'family' AND Turns = 2";
    await until(async () => (await countRows('runs', turns)) === 1);
    await purge('--user', 'carl');

    await until(async () => (await countRows('scores', "TargetId = 'family'")) === 1);
    expect(await countRows('runs', turns)).toBe(0);
    expect(await findTexts(serve.clickhouse, [first.traceId, 'of carl?'])).toEqual([]);
    expect(await countRows('scores', `TraceId = '${second.traceId}'`)).toBeGreaterThan(0);
  });

  it.concurrent('without a serve asks, and deletes nothing without a yes; with it, the command does the work itself', async () => {
    const home = new ServeFolder({ rules: [{ name: 'all', scorers: ['keyword-coverage'] }] });
    const [run] = runsOf('ann', 1);
    const started = await home.start();
    await sendTraces(started.otlpHttp, run!.request());
    await home.stop();
    const args = ['purge', '--trace', run!.traceId, '--config', home.configFile];
    const declined = await runCli(args, { cwd: home.path, stdin: 'no\n' });
    const done = await runCli(args, { cwd: home.path, stdin: 'yes\n' });
    const again = await runCli([...args, '--yes'], { cwd: home.path });
    const { clickhouse } = await home.start();
    const left = await findTexts(clickhouse, [run!.traceId, 'of ann?']);
    await home.dispose();

    expect(declined).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing was deleted') });
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('otel_traces') });
    expect(again).toMatchObject({ code: 4, stderr: expect.stringContaining('nothing of the trace') });
    expect(left).toEqual([]);
  });

  it.concurrent('ends by itself after a kill of the command, and after a kill of serve', async () => {
    const home = new ServeFolder(configOf(judge));
    let own = await home.start();
    // Scorers that see a trace of a purged user have it purged, too: each trace is one more wait.
    const runs = runsOf('eve', 2);
    await Promise.all(runs.map((run) => sendTraces(own.otlpHttp, run.request())));
    await until(async () => (await countRows('runs', "UserId = 'eve'", own)) >= runs.length);
    const command = startCli(['purge', '--user', 'eve', '--yes', '--config', home.configFile], {
      cwd: home.path,
      stdin: '',
    });
    await until(async () => (await countRows('jobs', "Kind = 'purge' AND Status = 'running'", own)) === 1);
    command.child.kill('SIGKILL');
    await command.ended;
    await home.killGroup();
    own = await home.start();
    const isDone = async () => (await countRows('jobs', "Kind = 'purge' AND Status != 'done'", own)) === 0;
    await until(isDone, 270_000);

    expect(await findTexts(own.clickhouse, textsOf('eve', runs))).toEqual([]);
    await sendTraces(own.otlpHttp, runs[0]!.request());
    expect(await findTexts(own.clickhouse, [runs[0]!.traceId])).toEqual([]);
    await home.dispose();
  });
});

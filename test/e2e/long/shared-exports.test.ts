import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

const SCORERS = ['keyword-coverage', 'no-tool-errors'];
const TRACES = 12;

// Two starts of `serve`, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 300_000 });

let receiver: HttpReceiver;
let first: ServeFolder;
let second: ServeFolder;
let addresses: readonly [ServeAddresses, ServeAddresses];

beforeAll(async () => {
  receiver = await startHttpReceiver();
  const config = {
    rules: [{ name: 'all', scorers: SCORERS }],
    exporters: {
      webhook: { url: `${receiver.url}/hook`, attempts: 1 },
      otlp: { endpoint: receiver.url, as: ['span-event', 'log'] },
    },
  };
  first = new ServeFolder(config);
  const { clickhouse, ...rest } = await first.start();
  second = new ServeFolder({ ...config, store: clickhouse });
  addresses = [{ clickhouse, ...rest }, await second.start()];
}, 120_000);

afterAll(async () => {
  await second.dispose();
  await first.dispose();
  await receiver.close();
});

/** Ids of the scores that arrived at a path, with repeats. */
function receivedScores(path: string): string[] {
  return receiver.requests
    .filter((request) => request.path === path)
    .flatMap(({ headers, body }) =>
      path === '/hook'
        ? [String(headers['webhook-id']).split('.')[0] ?? '']
        : readScoreIds(JSON.parse(body) as object, path === '/v1/traces'),
    );
}

/** Score ids in a request of OTLP/JSON. A span has its id twice: as its attribute and as that of its event. */
function readScoreIds(request: object, hasEvents: boolean): string[] {
  const ids = [
    ...JSON.stringify(request).matchAll(/"spanscore\.score\.id","value":\{"stringValue":"([^"]+)"/g),
  ].map(([, id = '']) => id);
  return hasEvents ? ids.filter((_, index) => index % 2 === 0) : ids;
}

async function listStored(): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    addresses[0].clickhouse,
    'SELECT toString(ScoreId) AS id FROM scores FINAL ORDER BY id',
  );
  return rows.map(({ id }) => id);
}

it('two serve processes on one store deliver each score exactly once to every exporter', async () => {
  for (let n = 0; n < TRACES; n += 1) {
    const trace = anAgentTrace().answering(`It is ${n} degrees in Paris.`);
    expect(await sendTraces(addresses[n % 2 === 0 ? 0 : 1].otlpHttp, trace.request())).toBe(200);
  }
  const paths = ['/hook', '/v1/traces', '/v1/logs'];
  const expected = TRACES * SCORERS.length;
  await until(
    () => paths.every((path) => receivedScores(path).length >= expected),
    120_000,
    () => [paths.map((path) => receivedScores(path).length), first.output, second.output],
  );
  // Long enough for a second process that would export, too.
  await new Promise((resolve) => setTimeout(resolve, 3_000));

  const stored = await listStored();
  expect(stored).toHaveLength(expected);
  const received = paths.map((path) => receivedScores(path).toSorted());
  expect(received).toEqual(paths.map(() => stored));
});

it('a score that the web hook refuses is listed by dlq, and delivered by a replay', async () => {
  const trace = anAgentTrace().answering('The web hook does not like this one.');
  receiver.answer(({ path, body }) => (path === '/hook' && body.includes(trace.traceId) ? 422 : 200));
  expect(await sendTraces(addresses[0].otlpHttp, trace.request())).toBe(200);
  const listLetters = async () => {
    const { stdout } = await runCli(['dlq', 'list', '--json'], { cwd: first.path });
    return jsonLines(stdout) as { source: string; signal: string; reason: string }[];
  };
  await until(
    async () => {
      // A delivered score shows that the receiver is there.
      await sendTraces(addresses[0].otlpHttp, anAgentTrace().request());
      return (await listLetters()).length >= SCORERS.length;
    },
    120_000,
    () => [first.output, second.output],
  );
  expect(await listLetters()).toMatchObject(
    SCORERS.map(() => ({ source: 'webhook', signal: 'scores', reason: 'the webhook answered HTTP 422' })),
  );
  receiver.answer(200);
  const refused = receiver.requests.filter(
    ({ path, body }) => path === '/hook' && body.includes(trace.traceId),
  );
  const ids = [...new Set(refused.map(({ headers }) => String(headers['webhook-id'])))];

  const { code } = await runCli(['dlq', 'replay', '--all'], { cwd: first.path });

  expect(code).toBe(0);
  await until(
    () => {
      const again = receiver.requests.slice(receiver.requests.indexOf(refused.at(-1)!) + 1);
      const hooks = again.filter(({ path, body }) => path === '/hook' && body.includes(trace.traceId));
      const received = new Set(hooks.map(({ headers }) => headers['webhook-id']));
      return ids.every((id) => received.has(id));
    },
    60_000,
    () => [first.output, second.output],
  );
  expect(await listLetters()).toEqual([]);
});

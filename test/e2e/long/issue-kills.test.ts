import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { openStore } from '../../../src/store/store.ts';
import { makeRuns } from '../../bench/issues/planted-runs.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { type JudgeServer, replyText, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { startRequestGate, type GatedRequest } from '../../support/fakes/request-gate.ts';
import { runCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Several processes, each started several times, on a machine that is busy with other things. A grouping rests for up to a minute: the
// tests wait side by side.
vi.setConfig({ testTimeout: 900_000 });

const WITHIN_MS = 200_000;
const SCORER = 'content-similarity';
const RULES = [{ name: 'all', scorers: [SCORER] }];

/** Enough for issues that grow together while runs come. */
const RUNS = 300;

/** Requests with the spans of made runs, the earliest first. */
const REQUESTS: readonly object[] = chunk([...makeRuns(RUNS, seededRandom(41))], 25).map((runs) => ({
  resourceSpans: runs.flatMap(({ request }) => (request as { resourceSpans: object[] }).resourceSpans),
}));

function chunk<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

const folders: ServeFolder[] = [];
let judge: JudgeServer;
/** Issues of one process that read the runs in their order, after a grouping that changed nothing. */
let expected: Awaited<ReturnType<typeof readIssues>> = [];

beforeAll(async () => {
  judge = await startJudgeServer(() => replyText('A title of a judge', { delayMs: 200 }));
  const folder = serveFolder({ rules: RULES });
  const addresses = await folder.start();
  await send(addresses, REQUESTS);
  await untilScored(addresses, RUNS, folder);
  const store = await openStore({ ...addresses.clickhouse, retention: { spansDays: 30, scoresDays: 400 } });
  const isFinal = async () => {
    const before = expected;
    await updateIssues(store);
    expected = await readIssues(addresses);
    return isDeepStrictEqual(expected, before) && expected.every(({ left }) => left === '0');
  };
  await until(isFinal, WITHIN_MS, () => folder.output.slice(-3_000));
  await store.close();
  await folder.stop();
});
afterAll(async () => {
  for (const folder of folders.toReversed()) {
    await folder.dispose();
  }
  await judge.close();
});

function serveFolder(config: Record<string, unknown>, role?: string): ServeFolder {
  const folder = new ServeFolder(config, role === undefined ? [] : ['--role', role]);
  folders.push(folder);
  return folder;
}

async function send({ otlpHttp }: Pick<ServeAddresses, 'otlpHttp'>, requests: readonly object[]) {
  for (const request of requests) {
    expect(await sendTraces(otlpHttp, request)).toBe(200);
  }
}

async function untilScored({ clickhouse }: ServeAddresses, runs: number, folder: ServeFolder) {
  const sql = 'SELECT toUInt32(uniqExact(TraceId)) AS n FROM decisions FINAL';
  await until(
    async () => (await queryRows<{ n: number }>(clickhouse, sql))[0]?.n === runs,
    WITHIN_MS,
    () => folder.output.slice(-3_000),
  );
}

/** Reads the issues with the runs of each, without which of its ids an issue has, and how many failures are still to be grouped. */
async function readIssues({ clickhouse }: Pick<ServeAddresses, 'clickhouse'>) {
  return queryRows<{ ids: string[]; firstSeen: string; runs: string[]; left: string }>(
    clickhouse,
    `SELECT arraySort(arrayConcat([i.IssueId], i.Aliases)) AS ids, toString(i.FirstSeen) AS firstSeen,
       arraySort(groupUniqArray(f.TraceId)) AS runs, countIf(NOT has(ids, f.SignatureId)) AS left
     FROM (SELECT * FROM failures FINAL) AS f LEFT JOIN (SELECT * FROM issues FINAL) AS i
       ON f.Tenant = i.Tenant AND f.IssueId = i.IssueId
     GROUP BY ids, firstSeen ORDER BY ids`,
  );
}

/** Waits until the issues are as expected. What stays different is shown by the assertion that follows. */
async function untilExpected(addresses: ServeAddresses): Promise<void> {
  const isSame = async () => isDeepStrictEqual(await readIssues(addresses), expected);
  await until(isSame, WITHIN_MS).catch(() => undefined);
}

/** Moments of a grouping and of a naming, by the statement that is under way. */
const STATEMENTS = {
  'the issues': /query=INSERT\+?(?:%20)?INTO(?:\+|%20)issues/u,
  'the failures of an issue': /INSERT INTO failures SELECT/u,
  'a title': /INSERT INTO issues SELECT \* REPLACE \(\{title/u,
} as const;

interface Moment {
  readonly statement: keyof typeof STATEMENTS;
  /** True: the store has carried out the statement, and the process does not know. */
  readonly isDone: boolean;
}

it.concurrent('are the same after kill -9 of the process that groups, whatever it writes, and a judge is asked for no title, or once an issue', async () => {
  expect(expected.length).toBeGreaterThan(10);
  const owner = serveFolder({ rules: RULES }, 'collector,api,store');
  const addresses = await owner.start();
  let moment: Moment | undefined;
  const isMeant = ({ path, body }: GatedRequest) =>
    moment !== undefined && STATEMENTS[moment.statement].test(`${path} ${body}`);
  const gate = await startRequestGate(addresses.clickhouse.url, async (request, forward) => {
    if (!isMeant(request)) {
      await forward();
      return true;
    }
    const { isDone } = moment!;
    moment = undefined;
    await (isDone ? forward() : undefined);
    await scorer.killGroup();
    return false;
  });
  const config = {
    rules: RULES,
    store: { ...addresses.clickhouse, url: gate.url },
    judges: { default: 'local/m', providers: { local: { baseURL: judge.baseUrl } } },
    issues: { name: 'none' },
  };
  const scorer = serveFolder(config, 'scorer');
  /** Starts the process, sends it runs, and kills it at a moment. */
  const kill = async (next: Moment, requests: readonly object[] = []) => {
    await scorer.start();
    moment = next;
    await send(addresses, requests);
    await until(
      () => scorer.pid === undefined,
      WITHIN_MS,
      () => `${next.statement}: ${scorer.output.slice(-2_000)}`,
    );
  };
  const parts = chunk(REQUESTS, Math.ceil(REQUESTS.length / 4));
  await kill({ statement: 'the issues', isDone: false }, parts[0]);
  await kill({ statement: 'the issues', isDone: true }, parts[1]);
  await kill({ statement: 'the failures of an issue', isDone: false }, parts[2]);
  await kill({ statement: 'the failures of an issue', isDone: true }, parts[3]);
  await scorer.start();
  await untilScored(addresses, RUNS, scorer);
  await untilExpected(addresses);
  expect(await readIssues(addresses)).toEqual(expected);
  expect(judge.requests).toEqual([]);
  await scorer.stop();

  scorer.configure({ ...config, issues: { name: 'judge' } });
  await kill({ statement: 'a title', isDone: true });
  await scorer.start();
  const titles = async () => {
    const sql = 'SELECT DISTINCT Title AS title FROM issues FINAL';
    return (await queryRows<{ title: string }>(addresses.clickhouse, sql)).map(({ title }) => title);
  };
  await until(async () => (await titles()).join() === 'A title of a judge', WITHIN_MS);
  const asked = judge.requests.map(({ prompt }) => readFencedPrompt(prompt)!.json);
  // The kill came when one title was stored, and while three more questions of the same look were open at most.
  expect(asked.length).toBeLessThanOrEqual(expected.length + 3);
  expect(asked.length).toBeGreaterThanOrEqual(expected.length);
  expect(await readIssues(addresses)).toEqual(expected);
  await gate.close();
});

it.concurrent('are the same from two processes that get the runs in the opposite order, of which one is killed', async () => {
  const first = serveFolder({ rules: RULES });
  const addresses = await first.start();
  const second = serveFolder({ rules: RULES, store: addresses.clickhouse });
  let other = await second.start();
  await until(() => first.output.includes('scorer processes changed'), WITHIN_MS);
  const turned = REQUESTS.toReversed();
  for (const [index, request] of turned.entries()) {
    if (index === Math.floor(turned.length / 2)) {
      await second.killGroup();
      other = await second.start();
    }
    await send(index % 2 === 0 ? addresses : other, [request]);
  }
  await untilScored(addresses, RUNS, first);
  await untilExpected(addresses);
  expect(await readIssues(addresses)).toEqual(expected);
});

it.concurrent('are the same from a backfill of runs that came in another order', async () => {
  const folder = serveFolder({ rules: [] });
  const addresses = await folder.start();
  const random = seededRandom(7);
  const shuffled = REQUESTS.map((request) => ({ request, at: random() })).toSorted((a, b) => a.at - b.at);
  await send(
    addresses,
    shuffled.map(({ request }) => request),
  );
  const command = [
    'backfill',
    '--from',
    '2025-12-31',
    '--scorer',
    SCORER,
    '--json',
    '--config',
    folder.configFile,
  ];
  const [{ n } = { n: '' }] = await queryRows<{ n: string }>(
    addresses.clickhouse,
    'SELECT count() AS n FROM failures',
  );
  expect(n).toBe('0');
  await until(async () => {
    const { stdout } = await runCli([...command, '--dry-run'], { cwd: folder.path });
    return (JSON.parse(stdout) as { remaining: number }).remaining === RUNS;
  }, WITHIN_MS);
  expect((await runCli(command, { cwd: folder.path })).code).toBe(0);
  await untilScored(addresses, RUNS, folder);
  await untilExpected(addresses);
  expect(await readIssues(addresses)).toEqual(expected);
});

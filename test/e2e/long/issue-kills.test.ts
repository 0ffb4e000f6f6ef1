import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { makeRuns } from '../../bench/issues/planted-runs.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { runCli } from '../../support/processes/cli.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

// Several processes, each started several times, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000, hookTimeout: 300_000 });

const WITHIN_MS = 90_000;
const SCORER = 'content-similarity';
const RULES = [{ name: 'all', scorers: [SCORER] }];

/** Requests with the spans of made runs, the earliest first. */
const REQUESTS: readonly object[] = chunk([...makeRuns(900, seededRandom(41))], 30).map((runs) => ({
  resourceSpans: runs.flatMap(({ request }) => (request as { resourceSpans: object[] }).resourceSpans),
}));

function chunk<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

const folders: ServeFolder[] = [];
/** Issues of one process that read the runs in their order. */
let expected: Awaited<ReturnType<typeof readIssues>>;

beforeAll(async () => {
  const folder = serveFolder({ rules: RULES });
  const addresses = await folder.start();
  await send(addresses, REQUESTS);
  await untilScored(addresses, 900, folder);
  await until(
    async () => {
      expected = await readIssues(addresses);
      return expected.at(-1)?.runs[0] === '0';
    },
    WITHIN_MS,
    () => folder.output.slice(-3_000),
  );
  await folder.stop();
});
afterAll(async () => {
  for (const folder of folders.toReversed()) {
    await folder.dispose();
  }
});

function serveFolder(config: Record<string, unknown>): ServeFolder {
  const folder = new ServeFolder(config);
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

/** Reads the issues with the runs of each, without which of its ids an issue has. */
async function readIssues({ clickhouse }: Pick<ServeAddresses, 'clickhouse'>) {
  const rows = await queryRows<{ ids: string[]; firstSeen: string; runs: string[] }>(
    clickhouse,
    `SELECT arraySort(arrayConcat([IssueId], Aliases)) AS ids, toString(FirstSeen) AS firstSeen,
       arraySort(groupUniqArray(TraceId)) AS runs
     FROM (SELECT * FROM failures FINAL) AS f INNER JOIN (SELECT * FROM issues FINAL) AS i USING (Tenant, IssueId)
     GROUP BY ids, firstSeen ORDER BY ids`,
  );
  const [left] = await queryRows<{ n: string }>(
    clickhouse,
    'SELECT count() AS n FROM failures FINAL WHERE IssueId NOT IN (SELECT IssueId FROM issues FINAL)',
  );
  return [...rows, { ids: ['without an issue'], firstSeen: '', runs: [String(left?.n)] }];
}

it('are the same from two processes that get the runs in the opposite order, of which one is killed', async () => {
  expect(expected.length).toBeGreaterThan(20);
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
  await untilScored(addresses, 900, first);
  await expect.poll(() => readIssues(addresses), { timeout: WITHIN_MS, interval: 1_000 }).toEqual(expected);
});

it('are the same from a backfill of runs that came in another order', async () => {
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
    return (JSON.parse(stdout) as { remaining: number }).remaining === 900;
  }, WITHIN_MS);
  expect((await runCli(command, { cwd: folder.path })).code).toBe(0);
  await untilScored(addresses, 900, folder);
  await expect.poll(() => readIssues(addresses), { timeout: WITHIN_MS, interval: 1_000 }).toEqual(expected);
});

/**
 * Time of the pages over a long history: 2 million traces and 10 million scores of 90 days, made by SQL on the embedded engine. Each
 * request of each page is asked over HTTP, one after another, and each query that it sends to the store is timed, then repeated alone for
 * its processor time. The API runs in a process of its own. Its memory is read after all requests. Then Chromium opens the pages, and the
 * time to their first paint is read.
 * `node test/bench/api-reads.ts [--traces 2000000] [--rounds 20] [--store FOLDER] [--program dist/src/cli/main.js] [pages …]`
 * `--store` keeps the history in a folder; a further run continues it until now. `--program` measures the built program: loading the
 * source takes some 80 MiB more. Pages (`/coverage`) leave out the others.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { anAlert } from '../support/builders/an-alert.ts';
import { hasChromium, startChromium } from '../support/dashboard/chromium.ts';
import { ServeFolder } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { atMost, head, row, sumUp, verdictOn } from './bench-table.ts';
import { openHistory } from './kept-history.ts';
import { listChildren, readCpuSeconds, readPeakBytes, readResidentBytes } from './process-cpu.ts';
import { nameQuery, startQueryTimer, type QueryTimer, type TimedQuery } from './query-times.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    traces: { type: 'string', default: '2000000' },
    rounds: { type: 'string', default: '20' },
    store: { type: 'string' },
    program: { type: 'string' },
  },
});
/** Most rounds of a request. A slow one has fewer, so that the whole ends within ten minutes. */
const maxRounds = Number(values.rounds);
const MIN_ROUNDS = 5;
const BUDGET_MS = 2_500;

/** Scores of each trace. */
const SCORERS = 5;
const DAYS = 90;

/** Longest time of a query, milliseconds. */
const QUERY_MS = 150;

/** Repeats of a query whose processor time is read: the kernel counts in steps of 10 ms. Of a request, so many slow queries are read. */
const COST_ROUNDS = 3;
const COSTED = 3;

/** Longest time to the first paint of a page, milliseconds. */
const PAINT_MS = 1_000;

/** Most resident memory of the API's process, MiB: 300 MB. */
const MEMORY_MIB = 286;
const MIB = 1024 * 1024;

/** Page of the dashboard. */
interface Page {
  /** Pattern of its path, as people know it. */
  readonly page: string;
  /** Address that Chromium opens. */
  readonly path: string;
  /** Requests that it sends: the first ones as it opens, the others by a choice of the person. */
  readonly requests: readonly string[];
}

/** Ids that requests name. */
interface Ids {
  readonly traceId: string;
  readonly scoreId: string;
  readonly incidentId: string;
  readonly issueId: string;
}

function listPages({ traceId, scoreId, incidentId, issueId }: Ids): Page[] {
  const page = (pattern: string, requests: readonly string[], path = pattern): Page => ({
    page: pattern,
    path,
    requests,
  });
  return [
    page('/', [
      '/overview',
      '/overview?bucket=1d',
      '/overview?bucket=1d&since=14d',
      '/agents?since=14d',
      '/coverage/funnel?since=14d',
      '/series?scorer=scorer-1&since=14d&bucket=1d&by=agent',
      '/traces?order=worst&since=14d&limit=5',
      '/traces/facets?since=30d&of=agent&of=environment&of=tenant',
      '/monitors?order=firing&limit=100',
    ]),
    page('/agents', ['/agents', '/agents?since=14d', '/agents?since=90d']),
    page(
      '/agents/{agent}',
      ['/agents/agent-1', '/agents/agent-1?since=14d', '/agents/agent-1/versions?left=v10&right=v11'],
      '/agents/agent-1',
    ),
    page(
      '/scores/{scorer}',
      [
        '/series?scorer=scorer-1&since=7d',
        '/distribution?scorer=scorer-1&since=7d',
        '/scores?scorer=scorer-1&since=7d&order=score&limit=10',
        '/series?scorer=scorer-1',
        '/series?scorer=scorer-1&since=7d&bucket=1h&by=agent',
        '/series?scorer=scorer-1&since=30d&bucket=1h',
        '/series?scorer=scorer-1&since=90d',
        '/series?scorer=scorer-1&since=90d&by=agent',
        '/series?scorer=scorer-1&since=90d&by=model&by=serviceVersion',
        '/distribution?scorer=scorer-1&since=90d&compareTo=previous',
        '/scores?scorer=scorer-1&since=90d&order=score&limit=10',
        '/scores?scorer=scorer-1&since=90d',
        `/scores/${scoreId}`,
      ],
      '/scores/scorer-1',
    ),
    page('/traces', [
      '/traces',
      '/traces?agent=agent-1&since=90d',
      '/traces?limit=500',
      '/traces?order=worst&since=90d',
      '/traces?q=user-7&since=90d',
      '/traces?q=order%201234%20left&since=90d',
      '/traces?tool=tool-1&toolError=true&since=90d',
      '/traces/facets?since=24h',
      '/traces/facets?since=14d',
      '/traces/facets?since=90d',
      '/traces/facets?q=order%201234%20left&since=90d',
      '/traces/facets?q=user-7&since=90d',
      '/traces/facets?agent=agent-1&since=14d',
    ]),
    page('/traces/{trace}', [`/traces/${traceId}`], `/traces/${traceId}`),
    page('/sessions', ['/sessions', '/sessions?since=14d', '/sessions?agent=agent-1&since=90d']),
    page('/sessions/{session}', ['/sessions/session-1000'], '/sessions/session-1000'),
    page('/coverage', [
      '/coverage?by=scorer',
      '/coverage?by=service',
      '/coverage?since=7d&by=service',
      '/coverage?since=90d&by=scorer',
      '/coverage?since=90d&by=service',
      '/coverage?since=90d&by=reason',
      '/coverage/funnel',
      '/coverage/funnel?agent=agent-1',
      '/coverage/funnel?since=14d',
      '/coverage/funnel?since=90d',
      '/coverage/funnel?agent=agent-1&since=90d',
    ]),
    page(
      '/compare',
      [
        '/compare?left=scorer-1&right=scorer-2',
        '/compare?left=scorer-1&right=scorer-2&since=90d',
        '/compare?left=scorer-1&right=human:correctness&since=90d',
      ],
      '/compare?left=scorer-1&right=scorer-2&since=90d',
    ),
    page('/alerts', ['/alerts?limit=500', '/mutes?limit=500', '/monitors']),
    page(
      '/alerts/{incident}',
      [
        `/alerts/${incidentId}`,
        '/series?scorer=scorer-1&since=14d&bucket=1h&agent=agent-1&environment=production',
        '/agents?agent=agent-1&environment=production&since=90d',
      ],
      `/alerts/${incidentId}`,
    ),
    page('/issues', [
      '/issues',
      '/issues?limit=10',
      '/issues?since=24h',
      '/issues?since=90d',
      '/issues?agent=agent-1&since=90d',
    ]),
    page(
      '/issues/{issue}',
      [`/issues/${issueId}?since=24h`, `/issues/${issueId}?since=90d`, `/issues/${issueId}/traces?since=90d`],
      `/issues/${issueId}`,
    ),
    page('/judges', [
      '/judges?since=24h',
      '/judges?since=30d',
      '/costs?by=agent',
      '/costs?by=model&since=90d',
      '/costs?by=rule',
    ]),
    page('/rules', ['/rules', '/scorers']),
    page(
      '/labels',
      ['/labels/queue?scorer=scorer-1&since=7d', '/labels/agreement?scorer=scorer-1'],
      '/labels?scorer=scorer-1',
    ),
    page('/backfills', ['/backfills']),
    page('/status', ['/status']),
    page('/welcome', ['/traces?limit=1']),
  ];
}

/** Expression in the page: the time of its first paint with content, milliseconds after its request. */
const FIRST_PAINT = `new Promise((resolve) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName('first-contentful-paint')[0];
  if (paint !== undefined) resolve(paint.startTime);
}).observe({ type: 'paint', buffered: true }))`;

const store = await openHistory(values.store, {
  traces: Number(values.traces),
  scorers: SCORERS,
  days: DAYS,
});
const [enginePid = 0] = listChildren(process.pid);
const timer = await startQueryTimer(store.options.url);
const { username, password, database } = store.options;
const connection = { url: timer.url, username, password, database };
const folder = new ServeFolder({ store: connection }, ['--role', 'api'], values.program);
try {
  const { api, pid } = await folder.start();
  const pages = listPages(await findIds()).filter(
    ({ page }) => positionals.length === 0 || positionals.includes(page),
  );
  await measureRequests(pages, { api, timer });
  measureMemory(pid);
  await measurePaints(pages, api);
  sumUp();
} finally {
  await folder.dispose();
  await timer.stop();
  await store.stop();
}

/** Finds a trace and a score of the middle of the history, and makes an incident of an agent. */
async function findIds(): Promise<Ids> {
  const [found] = await queryRows<Pick<Ids, 'traceId' | 'scoreId'>>(
    store.options,
    'SELECT TraceId AS traceId, ScoreId AS scoreId FROM score_starts WHERE TraceTimestamp > now() - INTERVAL 45 DAY ORDER BY TraceTimestamp LIMIT 1',
  );
  if (found === undefined) {
    throw new Error('the history has no scores');
  }
  const startsAtMs = Date.now() - 3_600_000;
  const series = {
    tenant: '',
    scorer: 'scorer-1',
    fingerprint: 'f1',
    agent: 'agent-1',
    environment: 'production',
  };
  const alert = anAlert({ startsAtMs, changeBeganMs: startsAtMs, series, agentVersion: 'v11' });
  await store.store.alerts.write([alert]);
  const [issue] = (await store.store.failures.issues('')).filter(({ agent }) => agent === 'agent-1');
  return { ...found, incidentId: alert.incidentId, issueId: issue?.issueId ?? '' };
}

async function measureRequests(
  pages: readonly Page[],
  at: { readonly api: string; readonly timer: QueryTimer },
): Promise<void> {
  head(
    `Requests over ${Number(values.traces) * SCORERS} scores of ${DAYS} days`,
    'page',
    'request',
    'queries',
    'median, ms',
    'p95, ms',
    'slowest query',
    'its median, ms',
    'its p95, ms',
    'costliest query',
    'its processor, ms',
    'goal',
  );
  for (const { page, requests } of pages) {
    for (const request of requests) {
      await measureRequest(page, request, at);
    }
  }
}

async function measureRequest(
  page: string,
  path: string,
  { api, timer: queries }: { readonly api: string; readonly timer: QueryTimer },
): Promise<void> {
  const found = new Map<string, number[]>();
  const last = new Map<string, TimedQuery>();
  const times = await repeat(async (isCounted) => {
    await sleep(5);
    queries.take();
    const tookMs = await ask(`${api}/api/v1${path}`);
    if (isCounted) {
      // Of queries with one text, the slowest of each round.
      const bySql = Map.groupBy(queries.take(), ({ sql }) => sql);
      for (const [sql, each] of bySql) {
        last.set(sql, each[0]!);
        found.set(sql, [...(found.get(sql) ?? []), Math.max(...each.map((query) => query.tookMs))]);
      }
    }
    return tookMs;
  });
  // Queries of few rounds are not of the request: the process looks for news now and then.
  const own = [...found].filter(([, each]) => each.length > times.length / 2);
  const slowestFirst = own
    .map(([sql, each]) => ({ sql, sorted: each.toSorted((a, b) => a - b) }))
    .toSorted((a, b) => percentile(b.sorted, 0.95) - percentile(a.sorted, 0.95));
  const [slowest] = slowestFirst;
  const costs: { readonly sql: string; readonly ms: number }[] = [];
  for (const { sql } of slowestFirst.slice(0, COSTED)) {
    costs.push({ sql, ms: await measureCost(last.get(sql)!) });
  }
  const costliest = costs.toSorted((a, b) => b.ms - a.ms)[0];
  const p95 = slowest === undefined ? 0 : percentile(slowest.sorted, 0.95);
  row(
    page,
    path,
    String(own.length),
    percentile(times, 0.5),
    percentile(times, 0.95),
    slowest === undefined ? '–' : nameQuery(slowest.sql),
    slowest === undefined ? '–' : percentile(slowest.sorted, 0.5),
    slowest === undefined ? '–' : p95,
    costliest === undefined ? '–' : nameQuery(costliest.sql),
    costliest === undefined ? '–' : costliest.ms,
    verdictOn(path, [atMost(p95, QUERY_MS, 'ms')]),
  );
}

/** Measures the processor time of the engine for a query alone, milliseconds: unlike its time, it hardly changes on a busy machine. */
async function measureCost(query: TimedQuery): Promise<number> {
  const before = readCpuSeconds(enginePid);
  for (let round = 0; round < COST_ROUNDS; round += 1) {
    await query.repeat();
  }
  return (1_000 * (readCpuSeconds(enginePid) - before)) / COST_ROUNDS;
}

async function ask(url: string): Promise<number> {
  const askedMs = performance.now();
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${url} was answered with ${response.status}: ${text}`);
  }
  return performance.now() - askedMs;
}

/** Measures until the rounds or their time are over, without the first time, which opens files and connections. */
async function repeat(measureOnce: (isCounted: boolean) => Promise<number>): Promise<number[]> {
  await measureOnce(false);
  const startedMs = performance.now();
  const times: number[] = [];
  while (
    times.length < MIN_ROUNDS ||
    (times.length < maxRounds && performance.now() - startedMs < BUDGET_MS)
  ) {
    times.push(await measureOnce(true));
  }
  return times.toSorted((a, b) => a - b);
}

function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
}

function measureMemory(pid: number): void {
  const resident = readResidentBytes(pid) / MIB;
  const peak = readPeakBytes(pid) / MIB;
  head('Process of the API', 'figure', 'MiB', 'goal');
  for (const [name, figure] of [
    ['resident memory after the requests', resident],
    ['most resident memory', peak],
  ] as const) {
    row(name, figure, verdictOn(name, [atMost(figure, MEMORY_MIB, 'MiB')]));
  }
}

/** Measures the time from the request of each page to its first paint with content. */
async function measurePaints(pages: readonly Page[], api: string): Promise<void> {
  if (!hasChromium()) {
    return;
  }
  const browser = await startChromium();
  head('Pages in Chromium', 'page', 'first paint, median, ms', 'p95, ms', 'goal');
  try {
    for (const { page: name, path } of pages) {
      const times = await repeat(async () => {
        const page = await browser.newPage();
        await page.goto(`${api}${path}`);
        const paint = await page.evaluate<number>(FIRST_PAINT);
        await page.close();
        return paint;
      });
      const p95 = percentile(times, 0.95);
      row(name, percentile(times, 0.5), p95, verdictOn(name, [atMost(p95, PAINT_MS, 'ms')]));
    }
  } finally {
    await browser.close();
  }
}

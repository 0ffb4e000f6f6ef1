/**
 * Time of the pages' requests over a long history: 2 million traces and 10 million scores of 90 days, made by SQL on the embedded
 * engine. Each request is asked over HTTP, one after another. The API runs in a process of its own, whose memory is read after all
 * requests. Then Chromium opens the pages, and the time to their first paint is read.
 * `node test/bench/api-reads.ts [--traces 2000000] [--rounds 20] [further paths …]`, for example `'/scores?limit=50'`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createDecisionAggregates } from '../../src/app/aggregates/count-coverage.ts';
import { refreshAggregates } from '../../src/app/aggregates/refresh-aggregates.ts';
import { hasChromium, startChromium } from '../support/dashboard/chromium.ts';
import { ServeFolder } from '../support/processes/serve-process.ts';
import { testStore } from '../support/store/store-rows.ts';
import { atMost, head, row, sumUp, verdictOn } from './bench-table.ts';
import { makeHistory } from './many-scores.ts';
import { readResidentBytes } from './process-cpu.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    traces: { type: 'string', default: '2000000' },
    rounds: { type: 'string', default: '20' },
  },
});
const traces = Number(values.traces);
const rounds = Number(values.rounds);

/** Scores of each trace. */
const SCORERS = 5;
const DAYS = 90;

/** Longest time of a request, milliseconds. */
const GOAL_MS = 150;

/** Longest time to the first paint of a page, milliseconds. */
const PAINT_MS = 1_000;

/** Most resident memory of the API's process, MiB. */
const MEMORY_MIB = 300;
const MIB = 1024 * 1024;

const PAGES = [
  '/',
  '/scores/scorer-1',
  '/traces',
  '/coverage',
  '/alerts',
  '/judges',
  '/rules',
  '/labels',
  '/status',
];

/** Expression in the page: the time of its first paint with content, milliseconds after its request. */
const FIRST_PAINT = `new Promise((resolve) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName('first-contentful-paint')[0];
  if (paint !== undefined) resolve(paint.startTime);
}).observe({ type: 'paint', buffered: true }))`;

const PATHS = [
  '/overview',
  '/overview?bucket=1d',
  '/series?scorer=scorer-1',
  '/series?scorer=scorer-1&since=7d&bucket=1h&by=agent',
  '/series?scorer=scorer-1&since=30d&bucket=1h',
  '/series?scorer=scorer-1&since=90d',
  '/series?scorer=scorer-1&since=90d&by=agent',
  '/series?scorer=scorer-1&since=90d&by=model&by=serviceVersion',
  '/distribution?scorer=scorer-1&since=7d',
  '/distribution?scorer=scorer-1&since=90d&compareTo=previous',
  '/coverage?by=scorer',
  '/coverage?since=90d&by=scorer',
  '/coverage?since=90d&by=reason',
  '/coverage?since=7d&by=service',
  '/compare?left=scorer-1&right=scorer-2&since=90d',
  '/compare?left=scorer-1&right=human:correctness&since=90d',
];

const store = await testStore();
try {
  await measure();
} finally {
  await store.stop();
}

async function measure(): Promise<void> {
  const startedMs = performance.now();
  await makeHistory(store.options, { traces, scorers: SCORERS, days: DAYS });
  await store.store.ruleVersions.record({
    rule: 'production',
    version: '1',
    activeFromMs: Date.now() - (DAYS + 1) * 86_400_000,
    probability: 0.8,
    definition: { scorers: Array.from({ length: SCORERS }, (_, index) => `scorer-${index}`) },
  });
  const madeMs = performance.now();
  const hours = await refreshAggregates(store.store.aggregates);
  await refreshAggregates(createDecisionAggregates(store.store));
  const computedMs = performance.now();
  console.log(
    `history made in ${seconds(madeMs - startedMs)}; aggregates of ${hours} hours in ${seconds(computedMs - madeMs)}`,
  );
  await measureRequests([...PATHS, ...positionals]);
  sumUp();
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`;
}

async function measureRequests(paths: readonly string[]): Promise<void> {
  const { url, username, password, database } = store.options;
  const folder = new ServeFolder({ store: { url, username, password, database } }, ['--role', 'api']);
  try {
    const { api, pid } = await folder.start();
    head(`Requests over ${traces * SCORERS} scores of ${DAYS} days`, 'path', 'median, ms', 'p95, ms', 'goal');
    for (const path of paths) {
      const times = await repeat(() => request(`${api}/api/v1${path}`));
      measured(path, times, GOAL_MS);
    }
    const memory = readResidentBytes(pid) / MIB;
    head('Process of the API', 'figure', 'MiB', 'goal');
    row(
      'resident memory after the requests',
      memory,
      verdictOn('memory', [atMost(memory, MEMORY_MIB, 'MiB')]),
    );
    await measurePaints(api);
  } finally {
    await folder.dispose();
  }
}

async function request(url: string): Promise<number> {
  const askedMs = performance.now();
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${url} was answered with ${response.status}: ${text}`);
  }
  return performance.now() - askedMs;
}

/** Measures once more than asked, and drops the first time, which opens files and connections. */
async function repeat(measureOnce: () => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    times.push(await measureOnce());
    await sleep(5);
  }
  return times.slice(1).toSorted((a, b) => a - b);
}

function measured(name: string, sorted: readonly number[], goalMs: number): void {
  const p95 = sorted[Math.ceil(0.95 * sorted.length) - 1] ?? Number.NaN;
  const middle = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  row(name, middle, p95, verdictOn(name, [atMost(p95, goalMs, 'ms')]));
}

/** Measures the time from the request of a page to its first paint with content. */
async function measurePaints(api: string): Promise<void> {
  if (!hasChromium()) {
    return;
  }
  const browser = await startChromium();
  head('Pages in Chromium', 'page', 'first paint, median, ms', 'p95, ms', 'goal');
  for (const path of PAGES) {
    const times = await repeat(async () => {
      const page = await browser.newPage();
      await page.goto(`${api}${path}`);
      const paint = await page.evaluate<number>(FIRST_PAINT);
      await page.close();
      return paint;
    });
    measured(path, times, PAINT_MS);
  }
  await browser.close();
}

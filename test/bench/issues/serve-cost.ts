import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { sendTraces, ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';
import { atMost, head, row, verdictOn } from '../bench-table.ts';
import { median } from '../measured-time.ts';
import { readPartSeconds } from '../process-cpu.ts';
import { makeRuns } from './planted-runs.ts';

/** Runs of a request, and requests a second. */
const RUNS_PER_REQUEST = 25;
const EVERY_MS = 250;

/** Time after the last decision, in which failures are grouped, milliseconds. */
const GROUP_MS = 15_000;

const DECIDED_WITHIN_MS = 300_000;

/** Measures the processor time of `serve` a run, with and without issues, in turns. The first runs of each process are not counted. */
export async function measureServe(runs: number, rounds: number): Promise<void> {
  const spent = new Map<boolean, { readonly serve: number; readonly engine: number }[]>([
    [false, []],
    [true, []],
  ]);
  for (let round = 0; round < rounds; round += 1) {
    for (const enabled of round % 2 === 0 ? [false, true] : [true, false]) {
      spent.get(enabled)!.push(await measureRuns(enabled, runs, round));
    }
  }
  const middle = (enabled: boolean, part: 'serve' | 'engine') =>
    median(spent.get(enabled)!.map((each) => each[part]));
  head(
    `Processor of serve with issues and without, ${runs} runs, ${rounds} turns, ms a run`,
    'part',
    'without',
    'with',
    'difference',
    'goal',
  );
  for (const part of ['serve', 'engine'] as const) {
    const [without, whole] = [middle(false, part), middle(true, part)];
    const goals = part === 'serve' ? [atMost(whole - without, 0.3, 'ms')] : [];
    row(part, without.toFixed(2), whole.toFixed(2), (whole - without).toFixed(2), verdictOn(part, goals));
  }
}

/** Returns the processor time of each run, milliseconds. */
async function measureRuns(enabled: boolean, runs: number, seed: number) {
  const folder = new ServeFolder({
    rules: [{ name: 'all', scorers: ['content-similarity'] }],
    issues: { enabled },
  });
  try {
    const { pid, otlpHttp, clickhouse } = await folder.start();
    const requests = buildRequests(2 * runs, 100 + seed);
    const half = Math.floor(requests.length / 2);
    const decided = (count: number) =>
      until(async () => {
        const sql = 'SELECT toUInt32(uniqExact(TraceId)) AS n FROM decisions FINAL';
        return (await queryRows<{ n: number }>(clickhouse, sql))[0]?.n === count;
      }, DECIDED_WITHIN_MS);
    await sendAll(otlpHttp, requests.slice(0, half));
    await decided(half * RUNS_PER_REQUEST);
    await sleep(GROUP_MS);
    const before = sumParts(pid);
    await sendAll(otlpHttp, requests.slice(half));
    await decided(requests.length * RUNS_PER_REQUEST);
    await sleep(GROUP_MS);
    const after = sumParts(pid);
    const counted = (requests.length - half) * RUNS_PER_REQUEST;
    const msOf = (part: 'serve' | 'engine') => (1_000 * (after[part] - before[part])) / counted;
    return { serve: msOf('serve'), engine: msOf('engine') };
  } finally {
    await folder.dispose();
  }
}

function buildRequests(runs: number, seed: number): object[] {
  const spans = [...makeRuns(runs, seededRandom(seed))].map(
    ({ request }) => (request as { resourceSpans: object[] }).resourceSpans,
  );
  return Array.from({ length: Math.floor(runs / RUNS_PER_REQUEST) }, (_, index) => ({
    resourceSpans: spans.slice(index * RUNS_PER_REQUEST, (index + 1) * RUNS_PER_REQUEST).flat(),
  }));
}

async function sendAll(otlpHttp: string, requests: readonly object[]): Promise<void> {
  for (const request of requests) {
    const startedMs = performance.now();
    if ((await sendTraces(otlpHttp, request)) !== 200) {
      throw new Error('serve did not take the runs');
    }
    await sleep(Math.max(0, EVERY_MS - (performance.now() - startedMs)));
  }
}

function sumParts(pid: number) {
  const sums = { serve: 0, engine: 0 };
  for (const [part, seconds] of readPartSeconds(pid)) {
    sums[part.startsWith('serve') ? 'serve' : 'engine'] += seconds;
  }
  return sums;
}

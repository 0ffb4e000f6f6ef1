/**
 * Rate of acknowledged spans alone, and beside a person who opens a page every second, in turns, on a store with a history.
 * `node test/bench/clicks.ts [--rounds 5] [--requests 2000] [--traces 200000]`
 */
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { SPANS_PER_REQUEST } from './bench-requests.ts';
import { forkLoad, type ForkedLoad } from './forked-load.ts';
import { makeHistory } from './many-scores.ts';
import { median } from './measured-time.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '2000' },
    traces: { type: 'string', default: '200000' },
  },
});
const rounds = Number(values.rounds);
const requests = Number(values.requests);

const DIFFERENT_REQUESTS = 100;
const CONCURRENCY = 96;

/** Requests of the pages that the person opens, one page a second. */
const CLICKS = [
  ['/overview'],
  [
    '/series?scorer=scorer-1&since=7d',
    '/distribution?scorer=scorer-1&since=7d',
    '/scores?scorer=scorer-1&order=score',
  ],
  ['/traces?limit=50'],
  ['/coverage?by=scorer', '/coverage?by=reason'],
  ['/sessions?limit=50'],
  ['/judges', '/status'],
];

/** Measures the spans that are acknowledged a second. */
async function measureIngest(load: ForkedLoad, { otlpHttp }: ServeAddresses): Promise<number> {
  const port = Number(new URL(otlpHttp).port);
  const { tookMs } = await load.run({ road: 'HTTP protobuf', port, requests, concurrency: CONCURRENCY });
  return (requests * SPANS_PER_REQUEST * 1_000) / tookMs;
}

/** Waits until the engine has merged the parts of the history. */
async function waitForMerges({ clickhouse }: ServeAddresses): Promise<void> {
  const sql = 'SELECT toUInt32(count()) AS n FROM system.merges';
  while ((await queryRows<{ n: number }>(clickhouse, sql))[0]?.n !== 0) {
    await sleep(1_000);
  }
}

/** Opens pages until it is stopped. */
function startClicking({ api }: ServeAddresses): { stop: () => Promise<void> } {
  const stopping = new AbortController();
  const click = async () => {
    for (let count = 0; !stopping.signal.aborted; count += 1) {
      const atMs = performance.now();
      const replies = await Promise.all(
        (CLICKS[count % CLICKS.length] ?? []).map((path) => fetch(`${api}/api/v1${path}`)),
      );
      for (const reply of replies) {
        if (!reply.ok) {
          throw new Error(`${reply.url} was answered with ${reply.status}`);
        }
        await reply.arrayBuffer();
      }
      await sleep(Math.max(0, atMs + 1_000 - performance.now()));
    }
  };
  const done = click();
  return {
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}

console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`);
const load = await forkLoad(DIFFERENT_REQUESTS);
const folder = new ServeFolder({ log: { level: 'error' } });
try {
  const serve = await folder.start();
  await makeHistory(serve.clickhouse, {
    traces: Number(values.traces),
    scorers: 5,
    days: 30,
    endMs: Date.now(),
  });
  await waitForMerges(serve);
  await measureIngest(load, serve);
  const found: Record<'alone' | 'beside', number[]> = { alone: [], beside: [] };
  for (let round = 0; round < rounds; round += 1) {
    found.alone.push(await measureIngest(load, serve));
    const clicking = startClicking(serve);
    found.beside.push(await measureIngest(load, serve));
    await clicking.stop();
  }
  const ratios = found.beside.map((rate, round) => rate / (found.alone[round] ?? Number.NaN));
  const show = (rates: readonly number[]) => rates.map((rate) => rate.toFixed(0)).join(', ');
  console.log(`spans/s alone: ${show(found.alone)}`);
  console.log(`spans/s beside a person who clicks: ${show(found.beside)}`);
  console.log(`ratio, median of ${rounds}: ${median(ratios).toFixed(2)} (goal: at least 0.8)`);
} finally {
  load.stop();
  await folder.dispose();
}

/**
 * Spans per second from socket to durable row, beside the bare engine's insert rate in the same run: rounds of both take
 * turns, the medians are compared. `node test/bench/ingest.ts [rounds] [requests a round] [concurrency]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCollector } from '../../collector/collector.ts';
import { DEFAULT_COLLECTOR_LIMITS } from '../../collector/limits.ts';
import { decodeRequest } from '../../collector/otlp/decode-request.ts';
import type { RowBlock, SpanSink } from '../../src/store/contracts/span-sink.ts';
import { startEmbeddedEngine } from '../../src/store/embedded/engine.ts';
import { openStore } from '../../src/store/store.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { benchRequests, gzipAll, SPANS_PER_REQUEST } from './bench-requests.ts';
import type { LoadOrder, LoadReport } from './load-generator.ts';

const [rounds = 5, requestsPerRound = 200, concurrency = 192] = process.argv.slice(2).map(Number);
const DIFFERENT_REQUESTS = 200;
const CLOCK_TICKS_PER_SECOND = 100;

interface Round {
  readonly spans: number;
  readonly tookMs: number;
  readonly ownCpuS: number;
  readonly engineCpuS: number;
  readonly latenciesMs: readonly number[];
}

/** User and system time of another process, from /proc. */
function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

async function measure(
  enginePid: number,
  spans: number,
  run: () => Promise<{ tookMs: number; latenciesMs: readonly number[] }>,
): Promise<Round> {
  const engineBefore = cpuSecondsOf(enginePid);
  const before = process.cpuUsage();
  const { tookMs, latenciesMs } = await run();
  const own = process.cpuUsage(before);
  return {
    spans,
    tookMs,
    latenciesMs,
    ownCpuS: (own.user + own.system) / 1e6,
    engineCpuS: cpuSecondsOf(enginePid) - engineBefore,
  };
}

/** Blocks as the collector's batcher makes them, encoded before the clock starts. */
function blocksOf(bodies: readonly Buffer[]): RowBlock[] {
  const perBlock = Math.floor(DEFAULT_COLLECTOR_LIMITS.batchRows / SPANS_PER_REQUEST);
  const blocks: RowBlock[] = [];
  for (let i = 0; i < bodies.length; i += perBlock) {
    const pieces = bodies
      .slice(i, i + perBlock)
      .flatMap((body) => decodeRequest('traces', 'protobuf', body, '').pieces);
    const rows = pieces.reduce((sum, piece) => sum + piece.rows, 0);
    blocks.push({ table: 'otel_traces', rows, chunks: pieces.map((piece) => piece.bytes) });
  }
  return blocks;
}

async function insertBare(sink: SpanSink, blocks: readonly RowBlock[], rows: number) {
  const latenciesMs: number[] = [];
  let sent = 0;
  let next = 0;
  const startedMs = performance.now();
  const writer = async (): Promise<void> => {
    while (sent < rows) {
      const block = blocks[next++ % blocks.length] as RowBlock;
      sent += block.rows;
      const sentMs = performance.now();
      await sink.insert(block, randomUUID());
      latenciesMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: DEFAULT_COLLECTOR_LIMITS.maxInserts }, writer));
  const tookMs = performance.now() - startedMs;
  return { spans: sent, tookMs, latenciesMs: latenciesMs.sort((a, b) => a - b) };
}

async function load(generator: ChildProcess, order: LoadOrder): Promise<LoadReport> {
  const answered = once(generator, 'message');
  generator.send(order);
  const [report] = (await answered) as [LoadReport];
  const refused = Object.entries(report.statuses).filter(([status]) => status !== '200');
  if (refused.length > 0) {
    throw new Error(`not every request was taken: ${JSON.stringify(report.statuses)}`);
  }
  return report;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function rate(round: Round): number {
  return (round.spans / round.tookMs) * 1_000;
}

function row(name: string, list: readonly Round[]): Record<string, string | number> {
  const perMillion = (cpu: (round: Round) => number): number =>
    Number(median(list.map((round) => (cpu(round) / round.spans) * 1e6)).toFixed(1));
  const at = (share: number): number =>
    Math.round(
      median(list.map((round) => round.latenciesMs[Math.floor(round.latenciesMs.length * share)] ?? 0)),
    );
  return {
    way: name,
    'spans/s': Math.round(median(list.map(rate))),
    lowest: Math.round(Math.min(...list.map(rate))),
    highest: Math.round(Math.max(...list.map(rate))),
    'own CPU-s/1M': perMillion((round) => round.ownCpuS),
    'engine CPU-s/1M': perMillion((round) => round.engineCpuS),
    'all CPU-s/1M': perMillion((round) => round.ownCpuS + round.engineCpuS),
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
  };
}

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'spanscore-bench-'));
  const log = createLog('warn');
  const engine = await startEmbeddedEngine({ dataDir });
  const retention = { spansDays: 30, scoresDays: 400 };
  const store = await openStore({ ...engine, database: 'bench', retention, log });
  const generator = fork(join(import.meta.dirname, 'load-generator.ts'), [String(DIFFERENT_REQUESTS)]);
  const ready = once(generator, 'message');
  const collector = await startCollector({
    sink: store.sink,
    deadLetters: store.deadLetters,
    http: { host: '127.0.0.1', port: 0 },
    log,
  });
  try {
    const bodies = benchRequests(DIFFERENT_REQUESTS);
    const blocks = blocksOf(bodies);
    const spans = requestsPerRound * SPANS_PER_REQUEST;
    const gzipped = gzipAll(bodies.slice(0, 20));
    const bytes = (list: readonly Buffer[]): number => median(list.map((body) => body.length)) / 1e3;
    console.log(
      `${SPANS_PER_REQUEST} spans a request, ${bytes(bodies).toFixed(0)} kB, ${bytes(gzipped).toFixed(0)} kB gzipped; ${concurrency} senders; ${rounds} rounds of ${spans} spans`,
    );
    await ready;
    const order = { port: collector.address.port, requests: requestsPerRound, concurrency };
    await insertBare(store.sink, blocks, spans);
    await load(generator, order);
    const bare: Round[] = [];
    const received: Round[] = [];
    for (let i = 0; i < rounds; i++) {
      bare.push(await measure(engine.pid, spans, () => insertBare(store.sink, blocks, spans)));
      received.push(await measure(engine.pid, spans, () => load(generator, order)));
    }
    console.table([row('bare engine insert', bare), row('socket to durable row', received)]);
    const { spans_accepted: accepted, inserts } = collector.stats().counts;
    console.log(`${Math.round(accepted / inserts)} rows an insert`);
    console.log(`ratio ${(median(received.map(rate)) / median(bare.map(rate))).toFixed(2)}`);
  } finally {
    generator.disconnect();
    await collector.stop();
    await store.close();
    await engine.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

await main();

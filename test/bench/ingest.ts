/**
 * Spans per second from socket to durable row over each road, beside the bare engine's insert rate in the same run: rounds
 * of all take turns, the medians are compared. CPU seconds are those of the collector's process and of the engine's.
 * `node test/bench/ingest.ts [rounds] [requests a round] [concurrency]`; `--soak 5000000` sends that many spans over HTTP
 * and shows memory instead.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_COLLECTOR_LIMITS } from '../../collector/limits.ts';
import { decodeRequest } from '../../collector/otlp/decode-request.ts';
import type { RowBlock } from '../../src/store/contracts/rows.ts';
import type { SpanSink } from '../../src/store/spans/span-sink.ts';
import { startEmbeddedEngine } from '../../src/store/embedded/engine.ts';
import { openStore } from '../../src/store/store.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { benchRequests, SPANS_PER_REQUEST } from './bench-requests.ts';
import { kafkaRoad, type KafkaRoad } from './kafka-road.ts';
import { forkLoad, type ForkedLoad } from './forked-load.ts';
import type { LoadOrder, Road } from './load-generator.ts';
import { type TestCollector, startTestCollector } from '../support/collector/test-collector.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { soak: { type: 'string' } },
});
const [rounds = 5, requestsPerRound = 400, concurrency = 192] = positionals.map(Number);
const ROADS: readonly Road[] = ['HTTP protobuf', 'HTTP JSON', 'gRPC'];
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
function computeCpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

async function measure(
  enginePid: number,
  spans: number,
  run: () => Promise<{ tookMs: number; latenciesMs: readonly number[] }>,
): Promise<Round> {
  const engineBefore = computeCpuSeconds(enginePid);
  const before = process.cpuUsage();
  const { tookMs, latenciesMs } = await run();
  const own = process.cpuUsage(before);
  return {
    spans,
    tookMs,
    latenciesMs,
    ownCpuS: (own.user + own.system) / 1e6,
    engineCpuS: computeCpuSeconds(enginePid) - engineBefore,
  };
}

/** Blocks as the collector's batcher makes them, encoded before the clock starts. */
function listBlocks(bodies: readonly Buffer[]): RowBlock[] {
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

/** Resident memory of a process, MB, from /proc. */
function residentMb(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return Math.round((pages * 4096) / 1e6);
}

interface World {
  readonly enginePid: number;
  readonly sink: SpanSink;
  readonly collector: TestCollector;
  readonly generator: ForkedLoad;
}

function orderFor({ collector }: World, road: Road, requests: number): LoadOrder {
  const port = road === 'gRPC' ? (collector.grpcAddress?.port ?? 0) : collector.address.port;
  return { road, port, requests, concurrency };
}

async function compareRoads(world: World, kafka: KafkaRoad | undefined): Promise<void> {
  const spans = requestsPerRound * SPANS_PER_REQUEST;
  const blocks = listBlocks(benchRequests(DIFFERENT_REQUESTS));
  const bare: Round[] = [];
  const received = new Map<string, Round[]>(
    [...ROADS, ...(kafka ? ['Kafka'] : [])].map((road) => [road, []]),
  );
  for (let round = -1; round < rounds; round++) {
    // The first round warms up and is not counted.
    const keep = (list: Round[] | undefined, result: Round): void => void (round >= 0 && list?.push(result));
    keep(bare, await measure(world.enginePid, spans, () => insertBare(world.sink, blocks, spans)));
    for (const road of ROADS) {
      const order = orderFor(world, road, requestsPerRound);
      keep(received.get(road), await measure(world.enginePid, spans, () => world.generator.run(order)));
    }
    if (kafka !== undefined) {
      await kafka.fill(requestsPerRound);
      keep(received.get('Kafka'), await measure(world.enginePid, spans, () => kafka.drain()));
    }
  }
  console.table([row('bare engine insert', bare), ...[...received].map(([road, list]) => row(road, list))]);
  const engineRate = median(bare.map(rate));
  for (const [road, list] of received) {
    console.log(`${road}: ${(median(list.map(rate)) / engineRate).toFixed(2)} of the engine's own rate`);
  }
  const { spans_accepted: accepted, inserts } = world.collector.stats().counts;
  console.log(`${Math.round(accepted / inserts)} rows an insert`);
}

/** Memory over many spans: it must not grow with them. */
async function soak(world: World, spans: number): Promise<void> {
  const steps = 10;
  const lines: Record<string, number>[] = [];
  for (let step = 1; step <= steps; step++) {
    const requests = Math.round(spans / steps / SPANS_PER_REQUEST);
    const { tookMs } = await world.generator.run(orderFor(world, 'HTTP protobuf', requests));
    lines.push({
      'spans so far': step * requests * SPANS_PER_REQUEST,
      'spans/s': Math.round((requests * SPANS_PER_REQUEST * 1000) / tookMs),
      'collector MB': residentMb(process.pid),
      'engine MB': residentMb(world.enginePid),
    });
  }
  console.table(lines);
}

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'spanscore-bench-'));
  const log = createLog('warn');
  const engine = await startEmbeddedEngine({ dataDir });
  const retention = { spansDays: 30, scoresDays: 400 };
  const store = await openStore({ ...engine, database: 'bench', retention, log });
  const forked = forkLoad(DIFFERENT_REQUESTS);
  const kafka =
    options.soak === undefined ? await kafkaRoad(benchRequests(DIFFERENT_REQUESTS), log) : undefined;
  const listen = { host: '127.0.0.1', port: 0 };
  const collector = await startTestCollector({
    sink: store.sink,
    deadLetters: store.deadLetters,
    http: listen,
    grpc: listen,
    ...(kafka === undefined ? {} : { kafka: kafka.receiver }),
    log,
  });
  try {
    console.log(
      `${SPANS_PER_REQUEST} spans of 2.6 KB a request; ${concurrency} senders; ${rounds} rounds of ${requestsPerRound * SPANS_PER_REQUEST} spans a road; load ${loadavg()[0]?.toFixed(1)} before`,
    );
    const generator = await forked;
    const world = { enginePid: engine.pid, sink: store.sink, collector, generator };
    await (options.soak === undefined ? compareRoads(world, kafka) : soak(world, Number(options.soak)));
  } finally {
    (await forked).stop();
    await collector.stop();
    await kafka?.close();
    await store.close();
    await engine.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

await main();

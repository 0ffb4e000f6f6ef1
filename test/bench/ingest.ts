/**
 * Spans per second from socket to durable row over each road, beside the bare engine's insert rate in the same run: rounds
 * of all take turns, the medians are compared. CPU seconds are those of the collector's process and of the engine's; merges are shared out
 * among all rows.
 * `node test/bench/ingest.ts [rounds] [requests a round] [concurrency]`; `--soak 5000000` sends that many spans over HTTP
 * and shows memory instead.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { DEFAULT_COLLECTOR_LIMITS } from '../../collector/limits.ts';
import { decodeRequest } from '../../collector/otlp/decode-request.ts';
import type { RowBlock } from '../../src/store/contracts/rows.ts';
import type { SpanSink } from '../../src/store/spans/span-sink.ts';
import { startEmbeddedEngine } from '../../src/store/embedded/engine.ts';
import { openStore } from '../../src/store/store.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { atLeast, atMost, head, row, shown, sumUp, verdictOn } from './bench-table.ts';
import { benchRequests, SPANS_PER_REQUEST } from './bench-requests.ts';
import { kafkaRoad, type KafkaRoad } from './kafka-road.ts';
import { forkLoad, type ForkedLoad } from './forked-load.ts';
import type { LoadOrder, Road } from './load-generator.ts';
import { median } from './measured-time.ts';
import { nameEnginePart, readOwnResidentBytes, readThreads } from './process-cpu.ts';
import { type ClickHouseAddress, queryRows } from '../support/store/clickhouse-query.ts';
import { type TestCollector, startTestCollector } from '../support/collector/test-collector.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { soak: { type: 'string' } },
});
const [rounds = 5, requestsPerRound = 400, concurrency = 192] = positionals.map(Number);
const ROADS: readonly Road[] = ['HTTP protobuf', 'HTTP JSON', 'gRPC'];
const DIFFERENT_REQUESTS = 200;
const DATABASE = 'bench';

interface Round {
  readonly spans: number;
  readonly tookMs: number;
  readonly ownCpuS: number;
  /** Without merges: those of a round may fall into a later one. */
  readonly engineCpuS: number;
  readonly mergeCpuS: number;
  readonly inserts: number;
  readonly latenciesMs: readonly number[];
}

/** Looks without a merge after which the merges of a round have ended, and the time between two, milliseconds. */
const CALM = { looks: 4, everyMs: 250 };

/** Waits until the engine merges no more. */
async function settleMerges({ clickhouse }: World): Promise<void> {
  for (let calm = 0; calm < CALM.looks;) {
    await sleep(CALM.everyMs);
    const [found] = await queryRows<{ merges: string }>(
      clickhouse,
      'SELECT count() AS merges FROM system.merges',
    );
    calm = found?.merges === '0' ? calm + 1 : 0;
  }
}

async function measure(
  world: World,
  spans: number,
  run: () => Promise<{ tookMs: number; latenciesMs: readonly number[]; inserts?: number }>,
): Promise<Round> {
  const { enginePid, collector } = world;
  const insertsBefore = collector.count('spanscore.insert.rows');
  const engineBefore = readEngineSeconds(enginePid);
  const before = process.cpuUsage();
  const { tookMs, latenciesMs, inserts } = await run();
  const own = process.cpuUsage(before);
  const insertsAfter = collector.count('spanscore.insert.rows');
  await settleMerges(world);
  const engineAfter = readEngineSeconds(enginePid);
  return {
    spans,
    tookMs,
    latenciesMs,
    inserts: inserts ?? insertsAfter - insertsBefore,
    ownCpuS: (own.user + own.system) / 1e6,
    engineCpuS: engineAfter.statements - engineBefore.statements,
    mergeCpuS: engineAfter.merges - engineBefore.merges,
  };
}

function readEngineSeconds(pid: number): { readonly statements: number; readonly merges: number } {
  const { merges = [], others = [] } = Object.groupBy(readThreads(pid), ({ name }) =>
    nameEnginePart(name) === 'engine: merges' ? 'merges' : 'others',
  );
  const sum = (threads: readonly { seconds: number }[]) =>
    threads.reduce((total, { seconds }) => total + seconds, 0);
  return { statements: sum(others), merges: sum(merges) };
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
  return { tookMs, latenciesMs: latenciesMs.sort((a, b) => a - b), inserts: latenciesMs.length };
}

function rate(round: Round): number {
  return (round.spans / round.tookMs) * 1_000;
}

/** Most processor time of a road ÷ that of the bare inserts of the same rows, and least rate ÷ theirs. */
const GOALS: Readonly<Record<string, readonly [mostCpu: number, leastRate: number]>> = {
  'HTTP protobuf': [1.6, 0.6],
  gRPC: [1.6, 0.6],
  Kafka: [1.6, 0.45],
  'HTTP JSON': [2, 0],
};

/** Median of a figure of each round, for a million spans. */
function perMillion(list: readonly Round[], cpu: (round: Round) => number): number {
  return median(list.map((round) => (cpu(round) / round.spans) * 1e6));
}

const allCpu = ({ ownCpuS, engineCpuS }: Round): number => ownCpuS + engineCpuS;

function tell(
  name: string,
  list: readonly Round[],
  { bare, merges }: { readonly bare: readonly Round[]; readonly merges: number },
): void {
  const cpu = (perMillion(list, allCpu) + merges) / (perMillion(bare, allCpu) + merges);
  const ofRate = median(list.map(rate)) / median(bare.map(rate));
  const [mostCpu, leastRate] = GOALS[name] ?? [Infinity, 0];
  const rates = list.map(rate);
  const at = (share: number): number =>
    median(list.map((round) => round.latenciesMs[Math.floor(round.latenciesMs.length * share)] ?? 0));
  const goals = [
    atMost(cpu, mostCpu, '×'),
    ...(leastRate === 0 ? [] : [atLeast(ofRate, leastRate, 'of the rate')]),
  ];
  row(
    name,
    `${shown(median(rates))} (${shown(Math.min(...rates))}–${shown(Math.max(...rates))})`,
    perMillion(list, ({ ownCpuS }) => ownCpuS),
    perMillion(list, ({ engineCpuS }) => engineCpuS),
    cpu.toFixed(2),
    ofRate.toFixed(2),
    median(list.map(({ spans, inserts }) => spans / inserts)),
    `${shown(at(0.5))}, ${shown(at(0.99))}`,
    verdictOn(name, list === bare ? [] : goals),
  );
}

interface World {
  readonly enginePid: number;
  readonly clickhouse: ClickHouseAddress;
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
    keep(bare, await measure(world, spans, () => insertBare(world.sink, blocks, spans)));
    for (const road of ROADS) {
      const order = orderFor(world, road, requestsPerRound);
      keep(received.get(road), await measure(world, spans, () => world.generator.run(order)));
    }
    if (kafka !== undefined) {
      await kafka.fill(requestsPerRound);
      const countAccepted = () => world.collector.count('spanscore.receiver.records.written traces');
      const before = countAccepted();
      const isDurable = () => countAccepted() - before >= spans;
      keep(received.get('Kafka'), await measure(world, spans, () => kafka.drain(isDurable)));
    }
  }
  const columns = [
    'spans/s',
    'own CPU-s',
    'engine CPU-s',
    '÷ bare',
    'of its rate',
    'rows an insert',
    'p50, p99 ms',
    'goal',
  ];
  head('Processor for a million spans, from the socket to the durable row', 'road', ...columns);
  const all = [bare, ...received.values()].flat();
  const sum = (figure: (round: Round) => number) => all.reduce((total, each) => total + figure(each), 0);
  const merges = (sum(({ mergeCpuS }) => mergeCpuS) / sum((each) => each.spans)) * 1e6;
  [['bare engine', bare] as const, ...received].forEach(([name, list]) => tell(name, list, { bare, merges }));
  console.log(
    `\nMerges, of all roads together: ${shown(merges)} CPU-s for a million spans, which each ratio includes.`,
  );
  sumUp();
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
      'collector MB': Math.round(readOwnResidentBytes(process.pid) / 1e6),
      'engine MB': Math.round(readOwnResidentBytes(world.enginePid) / 1e6),
    });
  }
  console.table(lines);
}

async function main(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'spanscore-bench-'));
  const log = createLog('warn');
  const engine = await startEmbeddedEngine({ dataDir });
  const retention = { spansDays: 30, scoresDays: 400 };
  const store = await openStore({ ...engine, database: DATABASE, retention, log });
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
    const { pid: enginePid, url, username, password } = engine;
    const clickhouse = { url, username, password, database: DATABASE };
    const world = { enginePid, clickhouse, sink: store.sink, collector, generator };
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

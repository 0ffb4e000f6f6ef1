/**
 * Processor time and memory for the same requests (`bench-requests.ts`, gzip protobuf over HTTP) in spanscore and in peers: the OpenTelemetry
 * Collector with its ClickHouse exporter into the same engine, Phoenix and MLflow. Work after the reply counts. A peer that this machine
 * cannot install is left out, with the reason. `node test/bench/peers.ts [--requests 400] [peer…]`: peers in Python get a 20th of the
 * requests; `collector`, `mlflow` and `phoenix` name the only peers.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startEmbeddedEngine } from '../../src/store/embedded/engine.ts';
import { startToolServer, TOOLS, type ToolName } from '../peers/tools/tool-servers.ts';
import { pythonVenv } from '../peers/python/python-venv.ts';
import { startOtelcol } from '../support/collector/otelcol.ts';
import { goProgram } from '../support/processes/go-program.ts';
import { freePorts } from '../support/processes/free-ports.ts';
import { ServeFolder } from '../support/processes/serve-process.ts';
import { head, row } from './bench-table.ts';
import { SPANS_PER_REQUEST } from './bench-requests.ts';
import { forkLoad } from './forked-load.ts';
import { readCpuSeconds, readResidentBytes } from './process-cpu.ts';

const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: { requests: { type: 'string', default: '400' } },
});
const REQUESTS = Number(values.requests);
const CONCURRENCY = 32;
const DIFFERENT_REQUESTS = 100;
const MIB = 1024 * 1024;

/** Longest wait for work after the last reply. */
const MOST_REST_S = 300;

/** Processor of a server at rest, as a part of a core, above its own use before the requests. */
const AT_REST = 0.05;

interface Running {
  readonly port: number;
  /** Processes that take part, each with those that it started. */
  readonly pids: readonly number[];
  readonly headers?: Readonly<Record<string, string>>;
  stop(): Promise<unknown>;
}

interface Side {
  readonly name: string;
  readonly requests: number;
  /** Starts the program, or tells why this machine has none. */
  start(): Promise<Running | { readonly missing: string }>;
}

const portOf = (url: string) => Number(new URL(url).port);

async function startOurs(): Promise<Running> {
  const folder = new ServeFolder({ rules: [], log: { level: 'error' } });
  const { pid, otlpHttp } = await folder.start();
  return { port: portOf(otlpHttp), pids: [pid], stop: () => folder.dispose() };
}

async function startCollector(): Promise<Running | { readonly missing: string }> {
  const program = await goProgram('otelcol', 'measured');
  if ('missing' in program) {
    return program;
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'spanscore-bench-'));
  const engine = await startEmbeddedEngine({ dataDir });
  const [port = 0] = await freePorts(1);
  const { url: endpoint, username, password } = engine;
  const collector = await startOtelcol(program.binary, {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { clickhouse: { endpoint, username, password, database: 'otel', compress: 'none' } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['clickhouse'] } },
    },
  });
  const stop = async () => {
    await collector.stop();
    await engine.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { port, pids: [collector.pid, engine.pid], stop };
}

async function startTool(name: ToolName): Promise<Running | { readonly missing: string }> {
  const venv = await pythonVenv(name);
  if ('missing' in venv) {
    return venv;
  }
  const server = await startToolServer(name, venv.python);
  return {
    port: portOf(server.url),
    pids: [server.pid],
    headers: TOOLS[name].headers,
    stop: async () => server.stop(),
  };
}

const SIDES: readonly Side[] = [
  { name: 'spanscore', requests: REQUESTS, start: startOurs },
  { name: 'Collector and its ClickHouse exporter', requests: REQUESTS, start: startCollector },
  { name: 'MLflow', requests: Math.ceil(REQUESTS / 20), start: () => startTool('mlflow') },
  { name: 'Phoenix', requests: Math.ceil(REQUESTS / 20), start: () => startTool('phoenix') },
];

const sum = (pids: readonly number[], read: (pid: number) => number) =>
  pids.reduce((total, pid) => total + read(pid), 0);

async function measure(peer: Side): Promise<number | undefined> {
  const { name, requests } = peer;
  const side = await peer.start();
  if ('missing' in side) {
    row(name, side.missing, '–', '–', '–', '–');
    return undefined;
  }
  const { port, pids, headers } = side;
  const cpu = () => sum(pids, readCpuSeconds);
  try {
    const startS = cpu();
    // What a start leaves to do ends first.
    await sleep(5_000);
    const restS = cpu();
    await sleep(3_000);
    const before = cpu();
    const idle = (before - restS) / 3;
    const startedMs = performance.now();
    const { tookMs } = await generator.run({
      road: 'HTTP protobuf',
      port,
      requests,
      concurrency: CONCURRENCY,
      headers,
    });
    for (let used = Infinity, second = 0; used > idle + AT_REST && second < MOST_REST_S; second += 1) {
      const sinceS = cpu();
      await sleep(1_000);
      used = cpu() - sinceS;
    }
    const passedS = (performance.now() - startedMs) / 1_000;
    const spans = requests * SPANS_PER_REQUEST;
    const perThousand = ((cpu() - before - idle * passedS) * 1_000) / spans;
    const memory = sum(pids, readResidentBytes) / MIB;
    row(name, startS, idle, perThousand, (spans * 1_000) / tookMs, memory.toFixed(0));
    return perThousand;
  } finally {
    await side.stop();
  }
}

console.log(`load ${loadavg()[0]?.toFixed(1)} before`);
const generator = await forkLoad(DIFFERENT_REQUESTS);
try {
  const columns = [
    'processor of the start, s',
    'at rest, cores',
    'processor for 1,000 spans, s',
    'answered spans/s',
    'MiB',
  ];
  head('The same spans in spanscore and in peers', 'program', ...columns);
  const isAsked = ({ name }: Side) =>
    asked.length === 0 || asked.some((peer) => name.toLowerCase().startsWith(peer));
  const sides = SIDES.filter((side, index) => index === 0 || isAsked(side));
  const figures: (number | undefined)[] = [];
  for (const side of sides) {
    figures.push(await measure(side));
  }
  const [ours = Number.NaN, ...others] = figures;
  const ratios = others.flatMap((figure, index) =>
    figure === undefined ? [] : [`${sides[index + 1]?.name} ${(figure / ours).toFixed(1)}`],
  );
  console.log(`\nProcessor for a span, ÷ ours: ${ratios.join(', ')}.`);
} finally {
  generator.stop();
}

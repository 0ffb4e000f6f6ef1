import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/collector/kafka.ts';
import { type Otelcol, startOtelcol } from '../../support/collector/otelcol.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { startTelemetrygen, type Telemetrygen } from '../../support/collector/telemetrygen.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { type ClickHouseAddress, queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';
import { emitterFile, noJsPackages } from '../js/js-packages.ts';
import { startModelServer, type ModelServer } from '../model-server.ts';
import { mapWide, runPeer } from '../peer-run.ts';

const deploy = fileURLToPath(new URL('../../../deploy/otel-collector/', import.meta.url));
const createTopics = fileURLToPath(new URL('../../../examples/kafka/create-topics.mjs', import.meta.url));
const TOKEN = 'a-token-of-the-collectors';
const PASSWORD = 'known to the Collector';
/** Spans of telemetrygen, enough for 15 s. */
const LOAD = { service: 'telemetrygen', traces: 150, childSpans: 4, spansPerSecond: 50 } as const;
/** More spans than the agents send. */
const SPANS_OF_LOAD = 100;
/** Scorers of the default rule. */
const SCORERS = 9;
/** A retry of the gateway after its longest pause, a rebalance of consumers, and the wait for a complete trace. */
const SCORED_MS = 200_000;
/** With the starts of all programs. */
const TIMEOUT_MS = 600_000;

const program = await goProgram('otelcol');
const binary = 'binary' in program ? program.binary : '';
const generator = 'binary' in program ? await goProgram('telemetrygen') : program;
const noKafka = 'binary' in generator ? await kafkaMissing() : undefined;
/** Agents under a real instrumentation: the first sends spans alone, the second sends its messages as log records. */
const agents = noJsPackages === undefined ? ['ai-sdk-7', 'otel-openai'] : [];
if (noJsPackages !== undefined && 'binary' in generator) {
  tellNotProved('scores of agents behind Collectors', noJsPackages);
}

/** The configurations that somebody starts a Collector with. */
const CONFIGS = [
  ['agent.yaml'],
  ['gateway.yaml', 'to-spanscore.yaml'],
  ['gateway.yaml', 'to-kafka.yaml'],
  ['gateway.yaml', 'to-clickhouse.yaml'],
] as const;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spanscore-gateway-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe.skipIf('missing' in program)('the configurations of the Collector in deploy/otel-collector', () => {
  const variables = {
    GATEWAY_ADDRESS: 'http://127.0.0.1:4318',
    SPANSCORE_ADDRESS: 'http://127.0.0.1:4318',
    KAFKA_BROKER: '127.0.0.1:9092',
    CLICKHOUSE_ADDRESS: 'http://127.0.0.1:8123',
    CLICKHOUSE_PASSWORD: PASSWORD,
    INGEST_TOKEN: TOKEN,
  };

  function validate(files: readonly string[]): { status: number | null; stderr: string } {
    const args = ['validate', ...files.map((file) => `--config=${file}`)];
    const env = { ...process.env, ...variables, QUEUE_FOLDER: join(folder, 'queue') };
    return spawnSync(binary, args, { encoding: 'utf8', env });
  }

  it.each(CONFIGS.map((files) => [files.join(' with '), files] as const))('%s is valid', (_name, files) => {
    const { status, stderr } = validate(files.map((file) => join(deploy, file)));

    expect([status, stderr]).toEqual([0, '']);
  });

  it.each([
    ['agent.yaml', 'queue_size', 'queue_length'],
    ['gateway.yaml', 'limit_percentage', 'limit_percent'],
    ['to-spanscore.yaml', 'flush_timeout', 'flush_after'],
    ['to-kafka.yaml', 'required_acks', 'required_acknowledgements'],
    ['to-clickhouse.yaml', 'create_schema', 'create_tables'],
  ])('%s is refused with a key that the Collector does not know', (file, key, wrong) => {
    const broken = join(folder, file);
    writeFileSync(broken, readFileSync(join(deploy, file), 'utf8').replace(`${key}:`, `${wrong}:`));
    const others: Readonly<Record<string, readonly string[]>> = {
      'agent.yaml': [],
      'gateway.yaml': ['to-spanscore.yaml'],
    };
    const beside = (others[file] ?? ['gateway.yaml']).map((name) => join(deploy, name));

    const { status, stderr } = validate([broken, ...beside]);

    expect(status).not.toBe(0);
    expect(stderr).toContain(wrong);
  });
});

/** Spans of the load in the store, each counted once: a Collector delivers at least once, so a span can have several rows. */
async function countStored(clickhouse: ClickHouseAddress): Promise<{ traces: number; spans: number }> {
  const sql = `SELECT uniqExact(TraceId) AS traces, uniqExact(TraceId, SpanId) AS spans
    FROM otel_traces WHERE ServiceName = '${LOAD.service}'`;
  const [row] = await queryRows<{ traces: string; spans: string }>(clickhouse, sql);
  return { traces: Number(row?.traces), spans: Number(row?.spans) };
}

/** Reads the number of spans that a Collector has taken, from its own metrics. */
async function readAcceptedSpans(metricsPort: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
  const series = (await response.text()).matchAll(/^otelcol_receiver_accepted_spans\w*\{.*\} (\S+)$/gm);
  return [...series].reduce((sum, [, value]) => sum + Number(value), 0);
}

interface CollectorPorts {
  readonly http: number;
  readonly grpc: number;
  readonly health: number;
  readonly metrics: number;
}

interface Ports {
  readonly spanscore: number;
  readonly engine: number;
  readonly AGENT: CollectorPorts;
  readonly GATEWAY: CollectorPorts;
}

async function findPorts(): Promise<Ports> {
  const ports = await freePorts(10);
  const take = () => ports.pop() ?? 0;
  const takeFour = () => ({ http: take(), grpc: take(), health: take(), metrics: take() });
  return { spanscore: take(), engine: take(), AGENT: takeFour(), GATEWAY: takeFour() };
}

/** Scores of the agents on the first road, which all others have to give, too. */
let expected: readonly unknown[] | undefined;

describe.skipIf('missing' in generator)('agents, their Collector, and the gateway', () => {
  let model: ModelServer;
  let serve: ServeFolder | undefined;
  let broker: KafkaBroker | undefined;
  let load: Telemetrygen | undefined;
  let collectors: Set<Otelcol>;

  beforeAll(async () => {
    model = await startModelServer();
  });

  afterAll(() => model.close());

  beforeEach(() => {
    collectors = new Set();
    serve = undefined;
    broker = undefined;
    load = undefined;
  });

  afterEach(async () => {
    await load?.kill();
    await Promise.all([...collectors].map((collector) => collector.stop()));
    await serve?.dispose();
    await broker?.stop();
  });

  async function startBroker(): Promise<KafkaBroker> {
    const started = await startKafka();
    const variables = { KAFKA_BROKER: started.brokers[0] ?? '', REPLICAS: '1' };
    await promisify(execFile)(process.execPath, [createTopics], { env: { ...process.env, ...variables } });
    return started;
  }

  function serveConfig(ports: Ports, kafka: KafkaBroker | undefined): Record<string, unknown> {
    const endpoint = `127.0.0.1:${ports.spanscore}`;
    return {
      store: { port: ports.engine, password: PASSWORD },
      auth: { tokens: [{ name: 'collectors', token: TOKEN, scopes: ['ingest'] }] },
      receivers: {
        otlp: { http: { endpoint }, grpc: { endpoint: '127.0.0.1:0' } },
        ...(kafka && { kafka: { brokers: kafka.brokers, topics: ['otlp_spans'], logTopics: ['otlp_logs'] } }),
      },
    };
  }

  /** Starts a Collector of the deployment. A later start with the same name has the same queue and the same ports. */
  async function startCollector(
    name: 'AGENT' | 'GATEWAY',
    ports: Ports,
    files: readonly string[],
    variables: Readonly<Record<string, string>>,
  ): Promise<Otelcol> {
    const { http, grpc, health, metrics } = ports[name];
    const collector = await startOtelcol(
      binary,
      files.map((file) => join(deploy, file)),
      {
        [`${name}_HTTP`]: `127.0.0.1:${http}`,
        [`${name}_GRPC`]: `127.0.0.1:${grpc}`,
        HEALTH_ADDRESS: `127.0.0.1:${health}`,
        METRICS_PORT: String(metrics),
        QUEUE_FOLDER: join(folder, name),
        INGEST_TOKEN: TOKEN,
        ...variables,
      },
    );
    collectors.add(collector);
    return collector;
  }

  async function killCollector(collector: Otelcol): Promise<void> {
    collectors.delete(collector);
    await collector.kill();
  }

  async function waitForFailedExport(collector: Otelcol): Promise<void> {
    await until(
      () => collector.output().includes('Exporting failed'),
      SCORED_MS,
      () => collector.output().slice(-2_000),
    );
  }

  /** Runs each agent to its end: its telemetry is acknowledged then. */
  async function runAgents(otlpHttp: string): Promise<void> {
    const addresses = { modelUrl: model.url, otlpHttp };
    const results = await mapWide(agents, agents.length, (name) =>
      runPeer(name, process.execPath, [emitterFile(name)], addresses),
    );
    expect(results).toEqual(agents.map((name) => ({ name, code: 0, output: '' })));
  }

  it.for(['to-spanscore.yaml', 'to-kafka.yaml', 'to-clickhouse.yaml'])(
    'lose nothing with %s, while its destination is away and both Collectors are killed',
    { timeout: TIMEOUT_MS },
    async (road, { skip }) => {
      if (road === 'to-kafka.yaml' && noKafka !== undefined) {
        skip(noKafka);
      }
      const ports = await findPorts();
      broker = road === 'to-kafka.yaml' ? await startBroker() : undefined;
      serve = new ServeFolder(serveConfig(ports, broker));
      let addresses = await serve.start();
      const startGateway = () =>
        startCollector('GATEWAY', ports, ['gateway.yaml', road], {
          SPANSCORE_ADDRESS: `http://127.0.0.1:${ports.spanscore}`,
          KAFKA_BROKER: broker?.brokers[0] ?? '',
          CLICKHOUSE_ADDRESS: `http://127.0.0.1:${ports.engine}`,
          CLICKHOUSE_PASSWORD: PASSWORD,
        });
      const startAgentCollector = () =>
        startCollector('AGENT', ports, ['agent.yaml'], {
          GATEWAY_ADDRESS: `http://127.0.0.1:${ports.GATEWAY.http}`,
        });
      const [gateway, agentCollector] = await Promise.all([startGateway(), startAgentCollector()]);
      await (broker === undefined ? serve.killGroup() : broker.kill());

      await runAgents(`http://127.0.0.1:${ports.AGENT.http}`);
      const endpoint = `127.0.0.1:${ports.AGENT.grpc}`;
      load = startTelemetrygen('binary' in generator ? generator.binary : '', { endpoint, ...LOAD });
      await until(async () => (await readAcceptedSpans(ports.GATEWAY.metrics)) >= SPANS_OF_LOAD);
      await waitForFailedExport(gateway);
      await killCollector(gateway);
      // From now on, each of the two queues has spans that are nowhere else.
      await waitForFailedExport(agentCollector);
      await killCollector(agentCollector);
      expect(load.isRunning()).toBe(true);
      await Promise.all([startAgentCollector(), startGateway()]);
      if (broker === undefined) {
        addresses = await serve.start();
      } else {
        await broker.restart();
      }

      const { traces, childSpans } = LOAD;
      expect(await load.finish()).toEqual({ code: 0, traces, failedExports: [] });
      const sent = { traces, spans: traces * (1 + childSpans) };
      // Each pass runs the agents anew, so the durations of their runs differ.
      const sql = `SELECT ServiceName, Scorer, if(Scorer = 'behaviour-duration', Score > 0, Score) AS Score
        FROM scores FINAL ORDER BY ServiceName, Scorer`;
      let stored = { traces: 0, spans: 0 };
      let scores: readonly unknown[] = [];
      await until(
        async () => {
          stored = await countStored(addresses.clickhouse);
          scores = await queryRows(addresses.clickhouse, sql);
          return stored.spans >= sent.spans && scores.length >= agents.length * SCORERS;
        },
        SCORED_MS,
        () => [
          stored,
          scores,
          [...collectors].map((one) => one.output().slice(-2_000)),
          serve?.output.slice(-2_000),
        ],
      );
      expect(stored).toEqual(sent);
      expected ??= scores;
      expect(scores).toEqual(expected);
    },
  );
});

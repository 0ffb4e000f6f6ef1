import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentTraceBuilder } from '../../support/builders/agent-trace.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/collector/kafka.ts';
import { type Otelcol, otelcolProgram, startOtelcol } from '../../support/collector/otelcol.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { until } from '../../support/until.ts';

const deploy = fileURLToPath(new URL('../../../deploy/otel-collector/', import.meta.url));
const createTopics = fileURLToPath(new URL('../../../examples/kafka/create-topics.mjs', import.meta.url));
const TOKEN = 'a-token-of-the-collectors';
const PASSWORD = 'known to the Collector';
/** A retry of the gateway after its longest pause, a rebalance of consumers, and the wait for a complete trace. */
const SCORED_MS = 200_000;
/** With the starts of all programs. */
const TIMEOUT_MS = 600_000;

const program = await otelcolProgram();
const binary = 'binary' in program ? program.binary : '';
const noKafka = 'binary' in program ? await kafkaMissing() : undefined;

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

  it('are refused with a key that the Collector does not know', () => {
    const broken = join(folder, 'agent.yaml');
    const text = readFileSync(join(deploy, 'agent.yaml'), 'utf8');
    writeFileSync(broken, text.replace('queue_size:', 'queue_length:'));

    const { status, stderr } = validate([broken]);

    expect(status).not.toBe(0);
    expect(stderr).toContain('queue_length');
  });
});

/** Scores of the first road, which all others have to give, too. */
let expected: readonly unknown[] | undefined;

describe.skipIf('missing' in program)('an agent, its Collector, and the gateway', () => {
  let serve: ServeFolder | undefined;
  let broker: KafkaBroker | undefined;
  let collectors: Set<Otelcol>;

  beforeEach(() => {
    collectors = new Set();
    serve = undefined;
    broker = undefined;
  });

  afterEach(async () => {
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

  async function namedPorts<Name extends string>(...names: readonly Name[]): Promise<Record<Name, number>> {
    const ports = await freePorts(names.length);
    return Object.fromEntries(names.map((name, index) => [name, ports[index]])) as Record<Name, number>;
  }

  function serveConfig(
    ports: Record<'spanscore' | 'engine', number>,
    kafka: KafkaBroker | undefined,
  ): Record<string, unknown> {
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

  /** Starts a Collector of the deployment. A later start with the same name has the same queue. */
  async function startCollector(
    files: readonly string[],
    { http, name }: { readonly http: number; readonly name: 'AGENT' | 'GATEWAY' },
    variables: Readonly<Record<string, string>>,
  ): Promise<Otelcol> {
    const { grpc, health, metrics } = await namedPorts('grpc', 'health', 'metrics');
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

  it.for(['to-spanscore.yaml', 'to-kafka.yaml', 'to-clickhouse.yaml'])(
    'lose nothing with %s, while its destination is away and the gateway is killed',
    { timeout: TIMEOUT_MS },
    async (road, { skip }) => {
      if (road === 'to-kafka.yaml' && noKafka !== undefined) {
        skip(noKafka);
      }
      const ports = await namedPorts('spanscore', 'engine', 'gateway', 'agent');
      broker = road === 'to-kafka.yaml' ? await startBroker() : undefined;
      serve = new ServeFolder(serveConfig(ports, broker));
      let addresses = await serve.start();
      const toDestination = {
        SPANSCORE_ADDRESS: `http://127.0.0.1:${ports.spanscore}`,
        KAFKA_BROKER: broker?.brokers[0] ?? '',
        CLICKHOUSE_ADDRESS: `http://127.0.0.1:${ports.engine}`,
        CLICKHOUSE_PASSWORD: PASSWORD,
      };
      const startGateway = () =>
        startCollector(['gateway.yaml', road], { http: ports.gateway, name: 'GATEWAY' }, toDestination);
      const gateway = await startGateway();
      const agent = await startCollector(
        ['agent.yaml'],
        { http: ports.agent, name: 'AGENT' },
        { GATEWAY_ADDRESS: `http://127.0.0.1:${ports.gateway}` },
      );
      await (broker === undefined ? serve.killGroup() : broker.kill());
      const trace = new AgentTraceBuilder();

      const response = await fetch(`http://127.0.0.1:${ports.agent}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(trace.request()),
      });
      expect(response.status).toBe(200);
      await until(
        () => gateway.output().includes('Exporting failed'),
        SCORED_MS,
        () => `${agent.output().slice(-1_000)}\n${gateway.output().slice(-2_000)}`,
      );
      collectors.delete(gateway);
      await gateway.kill();
      if (broker === undefined) {
        addresses = await serve.start();
      } else {
        await broker.restart();
      }
      const restarted = await startGateway();

      const sql = `SELECT Scorer, Score FROM scores FINAL WHERE TraceId = '${trace.traceId}' ORDER BY Scorer`;
      let scores: readonly unknown[] = [];
      await until(
        async () => {
          scores = await queryRows(addresses.clickhouse, sql);
          return scores.length >= (expected?.length ?? 4);
        },
        SCORED_MS,
        () => `${restarted.output().slice(-2_000)}\n${serve?.output.slice(-2_000)}`,
      );
      expected ??= scores;
      expect(scores).toEqual(expected);
    },
  );
});

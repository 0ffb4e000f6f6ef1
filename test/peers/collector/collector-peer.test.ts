import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import { jsonLines, runCli } from '../../support/processes/cli.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { type KafkaBroker, kafkaMissing, startKafka } from '../../support/collector/kafka.ts';
import { KafkaWorld } from '../../support/collector/kafka-world.ts';
import { type Otelcol, startOtelcol } from '../../support/collector/otelcol.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { type ServeAddresses, ServeFolder } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import {
  countRows,
  type RecordedRequest,
  recordedRequests,
  renamed,
  listTraceIds,
} from './recorded-requests.ts';
import { collectorConfig, foreignDatabase, type Kafka, type Road, ROADS, TOKENS } from './roads.ts';

/** Most of it is for the first time, when the Collector is built. */
const TIMEOUT_MS = 40 * 60_000;
const PASSWORD = 'known to the Collector';
/** A batch, a poll of Kafka, an insert. */
const ARRIVAL_MS = 180_000;
/** The wait for what comes late, of traces without a root too. */
const DECISION_MS = 180_000;
const program = await goProgram('otelcol');
const skipped: Partial<Record<Road, string>> = {};
if ('missing' in program) {
  ROADS.forEach((road) => (skipped[road] = program.missing));
} else {
  const noKafka = await kafkaMissing();
  if (noKafka !== undefined) {
    skipped.kafka = noKafka;
  }
}

const recorded = recordedRequests();
const sent = countRows(recorded);
/** Each road has traces of its own. */
const requestsOf = new Map(ROADS.map((road) => [road, renamed(recorded, road)]));
let folder = new ServeFolder();
let broker: KafkaBroker | undefined;
let otelcol: Otelcol | undefined;

function sentBy(road: Road): readonly RecordedRequest[] {
  return requestsOf.get(road) ?? [];
}

async function sendAll(port: number, requests: readonly RecordedRequest[]): Promise<void> {
  for (const { signal, body } of requests) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/${signal}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await response.text();
    if (response.status !== 200) {
      throw new Error(`the Collector refused a recorded request: ${response.status} ${text}`);
    }
  }
}

function formatList(ids: readonly string[]): string {
  return ids.map((id) => `'${id}'`).join(', ');
}

/** Counts the spans and log records of a road's traces in the store, each once. */
async function storedRows(serve: ServeAddresses, road: Road): Promise<{ spans: number; logs: number }> {
  const list = formatList(listTraceIds(sentBy(road)));
  const database = foreignDatabase(road) ?? serve.clickhouse.database;
  const count = async (rows: string): Promise<number> => {
    const [row] = await queryRows<{ n: string }>(
      { ...serve.clickhouse, database },
      `SELECT count() AS n FROM (${rows})`,
    );
    return Number(row?.n);
  };
  return {
    spans: await count(`SELECT DISTINCT TraceId, SpanId FROM otel_traces WHERE TraceId IN (${list})`),
    logs: await count(
      `SELECT DISTINCT TraceId, SpanId, Timestamp, Body, EventName, toString(LogAttributes) FROM otel_logs WHERE TraceId IN (${list})`,
    ),
  };
}

/** A configuration for commands that read the spans of a road. */
function configFor(road: Road): string {
  const database = foreignDatabase(road);
  if (database === undefined) {
    return folder.configFile;
  }
  const file = join(folder.path, `${database}.config.json`);
  const spans = { table: `${database}.otel_traces`, logs: `${database}.otel_logs` };
  writeFileSync(file, JSON.stringify({ store: { spans } }));
  return file;
}

/** Readings of stored traces by `inspect`. */
async function storedReadings(road: Road): Promise<TraceReading[]> {
  const command = ['inspect', '--json', '--config', configFor(road), ...listTraceIds(sentBy(road))];
  const { code, stdout, stderr } = await runCli(command, { cwd: folder.path });
  if (code !== 0) {
    throw new Error(`inspect ended with ${code}: ${stderr.slice(-2_000)}`);
  }
  // A run whose pieces are several traces is told for each of them.
  const readings = jsonLines(stdout) as TraceReading[];
  return sorted([...new Map(readings.map((reading) => [reading.traceId, reading])).values()]);
}

/** Readings of the sent requests without any road. */
function directReadings(road: Road): TraceReading[] {
  const lines = sentBy(road).map(({ body }) => body);
  return sorted(JSON.parse(JSON.stringify(readTraces(lines.join('\n')))) as TraceReading[]);
}

function sorted(readings: readonly TraceReading[]): TraceReading[] {
  return readings.toSorted((a, b) => a.traceId.localeCompare(b.traceId));
}

async function startAll(binary: string, roads: readonly Road[]): Promise<void> {
  let kafka: Kafka = { brokers: [], topics: [] };
  if (roads.includes('kafka')) {
    broker = await startKafka();
    const world = await KafkaWorld.open(broker);
    kafka = { brokers: broker.brokers, topics: [await world.topic(3), await world.topic()] };
    await world.close();
  }
  const [traces, logs] = kafka.topics;
  const [enginePort, ...ports] = await freePorts(1 + roads.length);
  folder = new ServeFolder({
    store: { port: enginePort, password: PASSWORD },
    auth: { tokens: TOKENS },
    receivers: {
      otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } },
      ...(traces === undefined
        ? {}
        : { kafka: { brokers: kafka.brokers, topics: [traces], logTopics: [logs], tenant: 'kafka' } }),
    },
  });
  const serve = await folder.start();
  otelcol = await startOtelcol(binary, collectorConfig(roads, ports, serve, kafka));
  for (const [index, road] of roads.entries()) {
    await sendAll(ports[index] ?? 0, sentBy(road));
  }
  let stored: unknown;
  for (const road of roads) {
    await until(async () => {
      stored = await storedRows(serve, road);
      return isDeepStrictEqual(stored, sent);
    }, ARRIVAL_MS).catch((error: unknown) => {
      const told = `sent ${JSON.stringify(sent)}, stored ${JSON.stringify(stored)} by ${road}`;
      throw new Error(`${told}: ${otelcol?.output().slice(-2_000)}`, { cause: error });
    });
  }
}

beforeAll(async () => {
  if ('binary' in program) {
    await startAll(
      program.binary,
      ROADS.filter((road) => skipped[road] === undefined),
    );
  }
}, TIMEOUT_MS);

afterAll(async () => {
  await otelcol?.stop();
  await folder.dispose();
  await broker?.stop();
});

describe('what agents send to the OpenTelemetry Collector', () => {
  it.for(ROADS)('is read the same after the road %s as without it', async (road, { skip }) => {
    const missing = skipped[road];
    if (missing !== undefined) {
      skip(missing);
    }

    const stored = await storedReadings(road);

    const direct = directReadings(road);
    expect(direct.length).toBeGreaterThan(10);
    expect(stored.map(({ traceId }) => traceId)).toEqual(direct.map(({ traceId }) => traceId));
    for (const [index, reading] of direct.entries()) {
      // What nothing looked at is told by the command, and is not part of a reading.
      expect(stored[index]).toEqual({ ...reading, unreadAttributes: expect.any(Array) });
    }
  });

  it.for(ROADS.filter((road) => foreignDatabase(road) === undefined))(
    'is decided about after the road %s, every trace of it',
    { timeout: 2 * DECISION_MS },
    async (road, { skip }) => {
      const missing = skipped[road];
      if (missing !== undefined) {
        skip(missing);
      }
      const list = formatList(listTraceIds(sentBy(road)));
      const { clickhouse } = folder.addresses();
      // What is one piece of a run is decided about with the whole.
      const sql = `SELECT DISTINCT TraceId FROM decisions WHERE TraceId IN (${list})`;
      const runs = directReadings(road).map(({ traceId }) => traceId);
      const undecided = async (): Promise<string[]> => {
        const rows = await queryRows<{ TraceId: string }>(clickhouse, sql);
        const decided = new Set(rows.map(({ TraceId }) => TraceId));
        return runs.filter((traceId) => !decided.has(traceId));
      };

      // What is still missing then is told below.
      await until(async () => (await undecided()).length === 0, DECISION_MS).catch(() => undefined);

      expect(await undecided()).toEqual([]);
    },
  );
});

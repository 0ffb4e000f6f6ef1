import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseAddress } from '../clickhouse-query.ts';
import { freePorts } from '../free-ports.ts';
import type { KafkaBroker } from '../kafka.ts';
import { KafkaWorld } from '../kafka-world.ts';
import { metricValue } from '../metric-lines.ts';
import type { Address } from '../otlp-post.ts';
import { ServeFolder } from '../serve-process.ts';
import { type MemoryWatch, watchMemory } from './memory-watch.ts';
import type { SendingTargets } from './numbered-senders.ts';
import { patiently } from './patiently.ts';

const HOST = '127.0.0.1';
const PARTITIONS = 4;
const ANY_PORT = `${HOST}:0`;

/** Processes on one store, with everything at the same addresses over all restarts. */
export interface Fleet {
  /** Receives over HTTP and gRPC, and owns the engine. */
  readonly receiver: ServeFolder;
  /** A process of its own that reads Kafka; undefined where there is no broker, or the receiver reads Kafka too. */
  readonly consumer: ServeFolder | undefined;
  readonly store: ClickHouseAddress;
  readonly targets: SendingTargets;
  readonly memory: MemoryWatch;
  /** Process of the engine, as published. */
  enginePid(): number;
  /** Offsets that the consumer's group has committed, by partition; -1 where none is. */
  committed(): Promise<number[]>;
  /** All records of the topic are committed. */
  hasCaughtUp(): Promise<boolean>;
  /** A gauge or counter of the consumer; undefined while it does not tell. */
  consumerMetric(series: string): Promise<number | undefined>;
  dispose(): Promise<void>;
}

export interface FleetOptions {
  /** Absent: nothing is read from Kafka, and nothing sent there. */
  readonly broker?: KafkaBroker | undefined;
  /** The receiver reads Kafka itself; default: another process does. */
  readonly isOneProcess?: boolean;
  /** A folder that all data goes to; default: one beside the configuration. */
  readonly dataDisk?: string;
}

/** Folders and addresses for one fleet; nothing is started but a client of the broker. */
export async function makeFleet({
  broker,
  isOneProcess = false,
  dataDisk,
}: FleetOptions = {}): Promise<Fleet> {
  const [http = 0, grpc = 0, engine = 0, api = 0] = await freePorts(4);
  const password = 'of one fleet only';
  const store = { url: `http://${HOST}:${engine}`, username: 'default', password, database: 'spanscore' };
  const world = broker === undefined ? undefined : await KafkaWorld.open(broker);
  const topic = (await world?.topic(PARTITIONS)) ?? '';
  const kafka = kafkaSource(broker, topic, world?.groupId ?? '');
  const receiver = new ServeFolder({
    receivers: {
      otlp: { http: { endpoint: `${HOST}:${http}` }, grpc: { endpoint: `${HOST}:${grpc}` } },
      ...(isOneProcess ? kafka : {}),
    },
    store: { port: engine, password },
    rules: [],
  });
  if (dataDisk !== undefined) {
    symlinkSync(dataDisk, receiver.dataDir);
  }
  const consumer = broker === undefined || isOneProcess ? undefined : consumerFolder(kafka, store, api);
  const enginePid = () => engineOf(receiver.dataDir) ?? 0;
  const memory = watchMemory(
    () =>
      new Map([
        ['receiver', receiver.pid],
        ['consumer', consumer?.pid],
        ['engine', receiver.pid === undefined ? undefined : enginePid()],
      ]),
  );
  return {
    receiver,
    consumer,
    store,
    targets: targetsOf({ http, grpc }, broker, topic),
    memory,
    enginePid,
    committed: () => patiently(async () => (await world?.committed(topic)) ?? []),
    hasCaughtUp: () => patiently(async () => (await world?.caughtUp(topic)) ?? true),
    consumerMetric: (series) => metricOf(`http://${HOST}:${api}/metrics`, series),
    dispose: async () => {
      memory.stop();
      await consumer?.dispose();
      await receiver.dispose();
      await world?.close();
    },
  };
}

function targetsOf(
  { http, grpc }: { http: number; grpc: number },
  broker: KafkaBroker | undefined,
  topic: string,
): SendingTargets {
  const at = (port: number): Address => ({ host: HOST, port });
  const kafka =
    broker === undefined ? {} : { kafka: { brokers: broker.brokers, topic, partitions: PARTITIONS } };
  return { http: at(http), grpc: at(grpc), ...kafka };
}

/** The part of `receivers` that reads the topic; nothing where there is no broker. */
function kafkaSource(
  broker: KafkaBroker | undefined,
  topic: string,
  groupId: string,
): Record<string, unknown> {
  // The shortest that brokers allow: what a killed consumer held is soon read by the next.
  const sessionTimeout = '6s';
  return broker === undefined
    ? {}
    : { kafka: { brokers: broker.brokers, topics: [topic], groupId, sessionTimeout } };
}

function consumerFolder(
  kafka: Readonly<Record<string, unknown>>,
  store: ClickHouseAddress,
  api: number,
): ServeFolder {
  const otlp = { http: { endpoint: ANY_PORT }, grpc: { endpoint: ANY_PORT } };
  return new ServeFolder(
    { receivers: { otlp, ...kafka }, api: { endpoint: `${HOST}:${api}` }, store, rules: [] },
    ['--role', 'collector,api'],
  );
}

/** Undefined while no engine is published, or half of its file is written. */
function engineOf(dataDir: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(join(dataDir, 'engine.json'), 'utf8')) as { pid: number }).pid;
  } catch {
    return undefined;
  }
}

async function metricOf(url: string, series: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    return metricValue(await response.text(), series);
  } catch {
    // Not there yet, or not there any more.
    return undefined;
  }
}

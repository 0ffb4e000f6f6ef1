import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouseAddress } from '../store/clickhouse-query.ts';
import { freePorts } from '../processes/free-ports.ts';
import type { KafkaBroker } from '../collector/kafka.ts';
import { KafkaWorld } from '../collector/kafka-world.ts';
import { metricValue } from '../documents/metric-lines.ts';
import { ServeFolder } from '../processes/serve-process.ts';
import { type MemoryWatch, watchMemory } from './memory-watch.ts';
import type { SendingTargets } from './numbered-senders.ts';
import { retryUntilAnswered } from './retry-until-answered.ts';

const HOST = '127.0.0.1';
const PARTITIONS = 4;
/** Time for each of the two processes. Together they need less than the timeout of a test hook. */
const STOP_WITHIN_MS = 35_000;
const METRIC_WITHIN_MS = 10_000;
const ANY_PORT = `${HOST}:0`;

/** Processes on one store. All addresses stay the same over all restarts. */
export interface Fleet {
  /** Receives over HTTP and gRPC, and owns the engine. */
  readonly receiver: ServeFolder;
  /** Separate process that reads Kafka; undefined without a broker, or when the receiver itself reads Kafka. */
  readonly consumer: ServeFolder | undefined;
  readonly store: ClickHouseAddress;
  readonly targets: SendingTargets;
  readonly memory: MemoryWatch;
  /** Pid of the engine, from `engine.json`; undefined while there is none. */
  enginePid(): number | undefined;
  /** Sends the engine a signal. Returns false without an engine, or when it has just ended. */
  signalEngine(signal: NodeJS.Signals): boolean;
  /** Reads the offsets that the consumer's group committed, by partition; -1 without one. */
  committed(): Promise<number[]>;
  /** True when all records of the topic are committed. */
  hasCaughtUp(): Promise<boolean>;
  /** Reads a gauge or counter of the consumer; undefined while the consumer does not answer. */
  consumerMetric(series: string): Promise<number | undefined>;
  dispose(): Promise<void>;
}

export interface FleetOptions {
  /** Without a broker, no process reads Kafka or sends to it. */
  readonly broker?: KafkaBroker | undefined;
  /** True when the receiver itself reads Kafka; by default a separate process does. */
  readonly isOneProcess?: boolean;
  /** Folder for all data; by default a folder next to the configuration. */
  readonly dataDisk?: string;
}

/** Creates the folders and addresses of a fleet. Starts only a client of the broker. */
export async function makeFleet({
  broker,
  isOneProcess = false,
  dataDisk,
}: FleetOptions = {}): Promise<Fleet> {
  const [http = 0, grpc = 0, engine = 0, api = 0] = await freePorts(4);
  const password = 'of one fleet only';
  const store = { url: `http://${HOST}:${engine}`, username: 'default', password, database: 'spanscore' };
  const kafka = broker === undefined ? undefined : await openKafka(broker);
  const receiver = new ServeFolder({
    receivers: {
      otlp: { http: { endpoint: `${HOST}:${http}` }, grpc: { endpoint: `${HOST}:${grpc}` } },
      ...(isOneProcess ? kafka?.source : {}),
    },
    store: { port: engine, password },
    rules: [],
  });
  if (dataDisk !== undefined) {
    symlinkSync(dataDisk, receiver.dataDir);
  }
  const consumer = kafka === undefined || isOneProcess ? undefined : consumerFolder(kafka.source, store, api);
  const enginePid = () => findEngine(receiver.dataDir);
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
    targets: {
      http: { host: HOST, port: http },
      grpc: { host: HOST, port: grpc },
      ...(kafka === undefined ? {} : { kafka: kafka.target }),
    },
    memory,
    enginePid,
    signalEngine: (signal) => sendSignal(enginePid(), signal),
    committed: () => retryUntilAnswered(async () => (await kafka?.world.committed(kafka.target.topic)) ?? []),
    hasCaughtUp: () =>
      retryUntilAnswered(async () => (await kafka?.world.caughtUp(kafka.target.topic)) ?? true),
    consumerMetric: (series) => findMetric(`http://${HOST}:${api}/metrics`, series),
    dispose: async () => {
      memory.stop();
      // An engine that ends regularly removes the files of its inserts.
      for (const folder of [consumer, receiver]) {
        // After a failure a process may hang or be suspended: `dispose` then kills it.
        await Promise.race([folder?.stop(), sleep(STOP_WITHIN_MS, undefined, { ref: false })]);
        await folder?.dispose();
      }
      await kafka?.world.close();
    },
  };
}

interface FleetKafka {
  readonly world: KafkaWorld;
  readonly target: NonNullable<SendingTargets['kafka']>;
  /** Part of `receivers` that reads the topic. */
  readonly source: Readonly<Record<string, unknown>>;
}

async function openKafka(broker: KafkaBroker): Promise<FleetKafka> {
  const { brokers } = broker;
  const world = await KafkaWorld.open(broker);
  const topic = await world.topic(PARTITIONS);
  // The shortest time that brokers allow, so that the next consumer soon gets the partitions of a killed one.
  const sessionTimeout = '6s';
  return {
    world,
    target: { brokers, topic, partitions: PARTITIONS },
    source: { kafka: { brokers, topics: [topic], groupId: world.groupId, sessionTimeout } },
  };
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

/** Reads the engine's pid; undefined without an `engine.json`. */
export function findEngine(dataDir: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(join(dataDir, 'engine.json'), 'utf8')) as { pid: number }).pid;
  } catch {
    return undefined;
  }
}

/** Sends a signal. Returns false when the process has ended, or has no pid. */
export function sendSignal(pid: number | undefined, signal: NodeJS.Signals): boolean {
  try {
    // Pid 0 would signal our own process group.
    return pid !== undefined && pid > 0 && process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') {
      return false;
    }
    throw error;
  }
}

async function findMetric(url: string, series: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(METRIC_WITHIN_MS) });
    return metricValue(await response.text(), series);
  } catch {
    // The process does not serve yet, or has ended.
    return undefined;
  }
}

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
import { patiently } from './patiently.ts';

const HOST = '127.0.0.1';
const PARTITIONS = 4;
/** Each of the three: together less than a hook of tests has. */
const STOP_WITHIN_MS = 35_000;
const METRIC_WITHIN_MS = 10_000;
const ANY_PORT = `${HOST}:0`;

/** Processes on one store, with everything at the same addresses over all restarts. */
export interface Fleet {
  /** Receives over HTTP and gRPC, and owns the engine. */
  readonly receiver: ServeFolder;
  /** A process of its own that reads Kafka; undefined where there is no broker, or the receiver reads Kafka too. */
  readonly consumer: ServeFolder | undefined;
  /** Hands what it receives over HTTP on to Kafka; only where the receiver reads Kafka itself. */
  readonly forwarder: ServeFolder | undefined;
  readonly store: ClickHouseAddress;
  readonly targets: SendingTargets;
  readonly memory: MemoryWatch;
  /** Process of the engine, as published; undefined while none is. */
  enginePid(): number | undefined;
  /** Sends the engine a signal; false where there is none, or it has just ended. */
  signalEngine(signal: NodeJS.Signals): boolean;
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
  const [http = 0, grpc = 0, engine = 0, api = 0, forward = 0] = await freePorts(5);
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
  const others =
    kafka === undefined
      ? { consumer: undefined, forwarder: undefined }
      : await otherProcesses(kafka, { isOneProcess, store, api, forward });
  const enginePid = () => findEngine(receiver.dataDir);
  const memory = watchMemory(
    () =>
      new Map([
        ['receiver', receiver.pid],
        ['consumer', others.consumer?.pid],
        ['forwarder', others.forwarder?.pid],
        ['engine', receiver.pid === undefined ? undefined : enginePid()],
      ]),
  );
  return {
    receiver,
    ...others,
    store,
    targets: {
      http: { host: HOST, port: http },
      grpc: { host: HOST, port: grpc },
      ...(kafka === undefined ? {} : { kafka: kafka.target }),
      ...(others.forwarder === undefined ? {} : { forward: { host: HOST, port: forward } }),
    },
    memory,
    enginePid,
    signalEngine: (signal) => sendSignal(enginePid(), signal),
    committed: () => patiently(async () => (await kafka?.world.committed(kafka.target.topic)) ?? []),
    hasCaughtUp: () => patiently(async () => (await kafka?.world.caughtUp(kafka.target.topic)) ?? true),
    consumerMetric: (series) => findMetric(`http://${HOST}:${api}/metrics`, series),
    dispose: async () => {
      memory.stop();
      // Told to end, an engine leaves nothing of its inserts behind.
      for (const folder of [others.consumer, others.forwarder, receiver]) {
        // After a failure one may hang, or still be held: then it is killed.
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
  /** The part of `receivers` that reads the topic. */
  readonly source: Readonly<Record<string, unknown>>;
}

async function openKafka(broker: KafkaBroker): Promise<FleetKafka> {
  const { brokers } = broker;
  const world = await KafkaWorld.open(broker);
  const topic = await world.topic(PARTITIONS);
  // The shortest that brokers allow: what a killed consumer held is soon read by the next.
  const sessionTimeout = '6s';
  return {
    world,
    target: { brokers, topic, partitions: PARTITIONS },
    source: { kafka: { brokers, topics: [topic], groupId: world.groupId, sessionTimeout } },
  };
}

interface OtherPlaces {
  readonly isOneProcess: boolean;
  readonly store: ClickHouseAddress;
  readonly api: number;
  readonly forward: number;
}

async function otherProcesses(
  { world, target, source }: FleetKafka,
  { isOneProcess, store, api, forward }: OtherPlaces,
): Promise<Pick<Fleet, 'consumer' | 'forwarder'>> {
  return isOneProcess
    ? { consumer: undefined, forwarder: forwarderFolder(target, await world.topic(), forward) }
    : { consumer: consumerFolder(source, store, api), forwarder: undefined };
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

function forwarderFolder(
  { brokers, topic }: FleetKafka['target'],
  logTopic: string,
  port: number,
): ServeFolder {
  return new ServeFolder({
    receivers: { otlp: { http: { endpoint: `${HOST}:${port}` }, grpc: { endpoint: ANY_PORT } } },
    forward: { kafka: { brokers, topic, logTopic } },
  });
}

/** Undefined while no engine is published. */
function findEngine(dataDir: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(join(dataDir, 'engine.json'), 'utf8')) as { pid: number }).pid;
  } catch {
    return undefined;
  }
}

function sendSignal(pid: number | undefined, signal: NodeJS.Signals): boolean {
  try {
    // Process 0 would be all of our own group.
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
    // Not there yet, or not there any more.
    return undefined;
  }
}

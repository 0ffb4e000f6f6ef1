import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tellNotProved } from '../not-proved.ts';
import { freePorts } from '../processes/free-ports.ts';
import { until } from '../until.ts';

// One Apache Kafka broker (KRaft, one node) from its published jars, on the machine's Java. Maven downloads the jars once
// into ~/.cache/spanscore (or KAFKA_JARS). KAFKA_BROKERS names a broker that runs already.

const run = promisify(execFile);
const JAVA = 'java';
const POM = new URL('kafka-pom.xml', import.meta.url);
const CLUSTER_ID = 'AAAAAAAAQACAAAAAAAAAAg';
const QUIET = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';

/** User of the SASL listener. */
export const KAFKA_USER = { username: 'app', password: 'app-secret' } as const;

export interface KafkaBroker {
  readonly brokers: readonly string[];
  /** SASL (PLAIN, SCRAM-SHA-512) without TLS; undefined for the broker in KAFKA_BROKERS. */
  readonly saslBrokers: readonly string[] | undefined;
  /** TLS listener with its own certificate. */
  readonly tls: { readonly brokers: readonly string[]; readonly ca: string } | undefined;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts the broker again with the same ports and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Returns the reason why no broker can be started here, and prints it once. Returns undefined when one can, or when
 * KAFKA_BROKERS names one.
 */
export async function kafkaMissing(): Promise<string | undefined> {
  if (givenBrokers() !== undefined) {
    return undefined;
  }
  for (const [command, flag] of [
    [JAVA, '-version'],
    ['mvn', '-version'],
  ] as const) {
    if (command === 'mvn' && existsSync(jarsFolder())) {
      continue;
    }
    try {
      await run(command, [flag]);
    } catch {
      const reason = `there is no ${command} here; install a JDK 17+ and Maven, or set KAFKA_BROKERS`;
      return tellNotProved('Kafka', reason);
    }
  }
  return undefined;
}

/**
 * Returns true where tests start a broker of their own, which they may kill. Says what is left out where KAFKA_BROKERS names
 * another.
 */
export function hasOwnBroker(missing: string | undefined, use: string): boolean {
  if (missing === undefined && givenBrokers() !== undefined) {
    tellNotProved(use, 'the broker of KAFKA_BROKERS is not ours to stop; unset it');
    return false;
  }
  return missing === undefined;
}

function givenBrokers(): string[] | undefined {
  const given = process.env['KAFKA_BROKERS'];
  return given === undefined || given === '' ? undefined : given.split(',');
}

/** Returns the folder of the jars. Its name contains their versions, so a new pom downloads again. */
function jarsFolder(): string {
  const digest = createHash('sha256').update(readFileSync(POM)).digest('hex').slice(0, 12);
  return process.env['KAFKA_JARS'] ?? join(homedir(), '.cache', 'spanscore', `kafka-${digest}`);
}

async function fetchJars(): Promise<string> {
  const folder = jarsFolder();
  if (!existsSync(folder)) {
    mkdirSync(join(folder, '..'), { recursive: true });
    const fresh = mkdtempSync(`${folder}-`);
    await run('mvn', [
      '-q',
      '-B',
      '-f',
      POM.pathname,
      'dependency:copy-dependencies',
      `-DoutputDirectory=${fresh}`,
    ]);
    try {
      renameSync(fresh, folder);
    } catch (error) {
      // Another test file may have downloaded the jars meanwhile.
      if (!existsSync(folder)) {
        throw error;
      }
      rmSync(fresh, { recursive: true });
    }
  }
  return folder;
}

/** Sends the same value `count` times in one batch for each codec, with Java's own client. Needs a JDK. */
export async function produceWithJava(
  brokers: readonly string[],
  record: {
    readonly topic: string;
    readonly codecs: readonly string[];
    readonly value: Uint8Array;
    readonly count: number;
  },
): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), 'spanscore-record-')), 'value');
  writeFileSync(file, record.value);
  const source = new URL('ProduceCompressed.java', import.meta.url).pathname;
  const jars = join(await fetchJars(), '*');
  const { topic, codecs, count } = record;
  await run(JAVA, [
    QUIET,
    '-cp',
    jars,
    source,
    brokers.join(','),
    topic,
    codecs.join(','),
    file,
    String(count),
  ]);
  rmSync(join(file, '..'), { recursive: true });
}

/** Starts a broker, or connects to the broker in KAFKA_BROKERS. */
export async function startKafka(): Promise<KafkaBroker> {
  const given = givenBrokers();
  if (given !== undefined) {
    const cannot = () => Promise.reject(new Error('the broker of KAFKA_BROKERS is not ours to stop'));
    return {
      brokers: given,
      saslBrokers: undefined,
      tls: undefined,
      kill: cannot,
      restart: cannot,
      stop: () => Promise.resolve(),
    };
  }
  const jars = join(await fetchJars(), '*');
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-kafka-'));
  const [plain = 0, controller = 0, sasl = 0, ssl = 0] = await freePorts(4);
  const ca = await makeCertificate(folder);
  const properties = join(folder, 'server.properties');
  writeFileSync(properties, serverProperties({ folder, plain, controller, sasl, ssl }));
  const scram = `SCRAM-SHA-512=[name=${KAFKA_USER.username},password=${KAFKA_USER.password}]`;
  await run(JAVA, [
    '-Xmx128m',
    QUIET,
    '-cp',
    jars,
    'kafka.tools.StorageTool',
    'format',
    '-t',
    CLUSTER_ID,
    '-c',
    properties,
    '--add-scram',
    scram,
  ]);
  const start = () => startServer(jars, properties, join(folder, 'server.log'));
  let server = await start();
  return {
    brokers: [`127.0.0.1:${plain}`],
    saslBrokers: [`127.0.0.1:${sasl}`],
    tls: { brokers: [`127.0.0.1:${ssl}`], ca },
    kill: () => end(server, 'SIGKILL'),
    restart: async () => {
      await end(server, 'SIGTERM');
      server = await start();
    },
    stop: async () => {
      await end(server, 'SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startServer(jars: string, properties: string, logFile: string): Promise<ChildProcess> {
  const server = spawn(
    JAVA,
    [
      '-Xmx512m',
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      QUIET,
      '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
      '-cp',
      jars,
      'kafka.Kafka',
      properties,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  // Ends the broker when the test run is aborted.
  const killChild = () => void server.kill('SIGKILL');
  process.once('exit', killChild);
  server.once('exit', () => process.off('exit', killChild));
  let serverLog = '';
  server.stderr?.on('data', (data: Buffer) => {
    serverLog += data.toString();
    writeFileSync(logFile, serverLog);
  });
  await until(() => serverLog.includes('Kafka Server started') || server.exitCode !== null, 240_000);
  if (server.exitCode !== null) {
    throw new Error(`Kafka ended with ${server.exitCode}: ${serverLog.slice(-2_000)}`);
  }
  return server;
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) {
    return;
  }
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill(signal);
  await ended;
}

/** Creates a self-signed certificate. Returns its text. */
async function makeCertificate(folder: string): Promise<string> {
  const store = ['-keystore', join(folder, 'broker.p12'), '-storetype', 'PKCS12', '-storepass', 'changeit'];
  const kind = ['-alias', 'broker', '-keyalg', 'RSA', '-dname', 'CN=localhost', '-validity', '2'];
  const names = ['-ext', 'SAN=dns:localhost,ip:127.0.0.1'];
  await run('keytool', ['-genkeypair', ...kind, ...names, ...store]);
  return (await run('keytool', ['-exportcert', '-rfc', '-alias', 'broker', ...store])).stdout;
}

interface Ports {
  readonly folder: string;
  readonly plain: number;
  readonly controller: number;
  readonly sasl: number;
  readonly ssl: number;
}

function serverProperties({ folder, plain, controller, sasl, ssl }: Ports): string {
  const module = 'org.apache.kafka.common.security';
  return `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:${plain},LOGIN://127.0.0.1:${sasl},SECURE://127.0.0.1:${ssl},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=PLAINTEXT://127.0.0.1:${plain},LOGIN://127.0.0.1:${sasl},SECURE://127.0.0.1:${ssl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT,SECURE:SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.login.plain.sasl.jaas.config=${module}.plain.PlainLoginModule required user_${KAFKA_USER.username}="${KAFKA_USER.password}";
listener.name.login.scram-sha-512.sasl.jaas.config=${module}.scram.ScramLoginModule required;
listener.name.secure.ssl.keystore.location=${join(folder, 'broker.p12')}
listener.name.secure.ssl.keystore.type=PKCS12
listener.name.secure.ssl.keystore.password=changeit
log.dirs=${join(folder, 'data')}
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
num.network.threads=2
num.io.threads=4
background.threads=2
log.cleaner.dedupe.buffer.size=4194304
log.segment.bytes=67108864
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
`;
}

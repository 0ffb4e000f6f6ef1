import type { ReceiverDefinition, StartReceiver } from '../collector/receivers/receiver.ts';
import { startServeApi, type ServeApi } from './api/serve-api.ts';
import type { OtlpAddresses } from './api/serve-status.ts';
import { createSignIns } from './api/writes/audit.ts';
import { PREBUILT_SCORERS, RECEIVERS } from './components.ts';
import type { ConfigControl } from './config/config-control.ts';
import { createDataDirectory } from './config/data-folder.ts';
import { listReceivers } from './config/schema/components.ts';
import { readServeFile, removeServeFile, writeServeFile, type ServeFile } from './config/serve-file.ts';
import { parseConfig, type Config, type ConfigInput } from './configuration.ts';
import { AppError, rejectAborted } from './domain/errors.ts';
import type { ReadinessCheck } from './domain/readiness-check.ts';
import { startDuties } from './ownership/duties.ts';
import { startLocalReload } from './process/local-reload.ts';
import { packageVersion } from './process/package.ts';
import { limitHeap, stopParts, type StartedPart } from './process/parts.ts';
import { leaveOutPurged, type PurgeAwareStore } from './purge/configured-purge.ts';
import { openRevisions, type ConfigPlace, type Senders } from './serve-control.ts';
import { loadParts, type ScorerRole, startScorer } from './serve-scorer.ts';
import {
  connectLentStore,
  connectOwnStore,
  engineCheck,
  engineReadings,
  openOwnStore,
  type StoreConnection,
} from './store/connection/connect-store.ts';
import type { SourceState } from './store/contracts/sources.ts';
import type { Store } from './store/store.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { diskReadings, processReadings } from './telemetry/process-readings.ts';

/** Roles of a `serve` process. */
export const ROLES = ['collector', 'scorer', 'api', 'store'] as const;
export type Role = (typeof ROLES)[number];

/** Addresses of a running `serve`; null for a role that it does not have. */
export interface ServeAddresses extends OtlpAddresses {
  readonly api: string | null;
  /** Address of `/healthz`, `/readyz` and `/metrics`, which every role has; null when the port was in use. */
  readonly probes: string | null;
  readonly clickhouse: { url: string; username: string; password: string; database: string };
}

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns the URL of an address; null for a part that does not listen. */
function formatUrl(address: ListenAddress | null | undefined, tls: object | undefined): string | null {
  if (address === null || address === undefined) {
    return null;
  }
  const { host, port } = address;
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function buildOtlpAddresses(
  { receivers: { otlp } }: Config,
  receivers: Receivers | undefined,
): OtlpAddresses {
  const [http, grpc] = ['otlp-http', 'otlp-grpc'].map((name) => receivers?.addresses.get(name));
  return { otlpHttp: formatUrl(http, otlp.http.tls), otlpGrpc: formatUrl(grpc, otlp.grpc.tls) };
}

export interface Serve {
  readonly addresses: ServeAddresses;
  /** Kind of the store for people: `server`, `embedded engine`, … */
  readonly storeKind: string;
  /** Control of the configuration; undefined without `ServeOptions.source`. */
  readonly control: ConfigControl | undefined;
  /** Resolves when the process that owns the engine has ended: nothing can be stored from then on. */
  readonly lost: Promise<void>;
  /** Accepts no new work, finishes the accepted work, then closes everything. A second call waits for the first. */
  stop(): Promise<void>;
}

export interface ServeOptions {
  /** Default: all roles. */
  readonly roles?: readonly Role[];
  readonly log?: Log;
  /** Place of the configuration. Absent: it cannot be loaded again. */
  readonly source?: ConfigPlace;
  /** Aborts the start, and the wait for another process that owns the data directory. */
  readonly signal?: AbortSignal;
}

/**
 * Starts the roles in order: store, scorer, collector, API. Stops the started roles when a later one fails. Throws an
 * `AppError` for a wrong configuration, an unreachable store, a port in use, `store_in_use` when another `serve` has the
 * data directory, and `cancelled` at the signal.
 */
export async function startServe(input: ConfigInput | Config, options: ServeOptions = {}): Promise<Serve> {
  const config = parseConfig(input, { scorers: PREBUILT_SCORERS });
  const log = options.log ?? createLog(config.log.level);
  const started: StartedPart[] = [];
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= stopParts(started, log));
  try {
    await createDataDirectory(config.store.dataDir);
    const { roles = ROLES, signal, source } = options;
    if (roles.includes('scorer')) {
      // Its modules make the heap grow while they are loaded.
      limitHeap(roles);
    }
    const metrics = startMetrics(started, log);
    if (roles.includes('store') && config.store.url === undefined) {
      // Before the engine starts: a full disk can be the reason why it does not.
      metrics.observe(() => diskReadings(config.store.dataDir));
    }
    const api = await startServeApi(config, { hasApi: roles.includes('api'), log, metrics });
    started.push({ name: 'api', stage: 'work', stop: () => api.stop() });
    const deps = { started, log, signal, metrics, api, source };
    return { ...(await startRoles(config, roles, deps)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface ServeDependencies {
  /** Parts to stop; the list grows during the start. */
  readonly started: StartedPart[];
  readonly log: Log;
  readonly signal: AbortSignal | undefined;
  readonly metrics: Metrics;
  readonly api: ServeApi;
  readonly source: ConfigPlace | undefined;
}

function startMetrics(started: StartedPart[], log: Log): Metrics {
  const metrics = createMetrics({ version: packageVersion(), log });
  const ofProcess = processReadings();
  metrics.observe(ofProcess.source);
  started.push({
    name: 'metrics',
    stage: 'engine',
    stop: async () => {
      ofProcess.stop();
      await metrics.stop();
    },
  });
  return metrics;
}

async function startRoles(
  config: Config,
  roles: readonly Role[],
  deps: ServeDependencies,
): Promise<Omit<Serve, 'stop'>> {
  const { started, log, metrics, api } = deps;
  api.waitFor('the store');
  const connect = roles.includes('store') ? connectOwnStore : connectLentStore;
  const connection = await connect(config, log, deps.signal);
  const { engine } = connection;
  started.push(
    // This part stops first: a successor that starts from now on waits.
    { name: 'data directory', stage: 'address', stop: async () => engine?.mark('stopping') },
    { name: 'engine', stage: 'engine', stop: () => connection.release() },
  );
  const opened = await openOwnStore(connection, log, deps.signal);
  started.push({ name: 'store', stage: 'store', stop: () => opened.close() });
  const purgeAware = await leaveOutPurged(config, opened, log);
  const { store, purged } = purgeAware;
  started.push({ name: 'tombstones', stage: 'store', stop: async () => purged.stop() });
  if (engine !== undefined) {
    // They used an engine that has ended. After a kill, their traces would be left to them for half a minute, and their exporters and
    // alerts for a quarter of one.
    await Promise.all([store.members.dismissAll(), store.duties.dismissAll()]);
  }
  const receives = roles.includes('collector') && !(await readsForeignSpans(config, store, log));
  const parts = await loadParts(config, roles);
  const scorer = roles.includes('scorer') ? await startScorer(parts, purgeAware, deps) : undefined;
  api.waitFor(receives ? 'the receivers' : 'the API');
  const senders = { tokens: config.auth.tokens };
  const receivers = receives ? await startReceivers(config, senders, purgeAware, deps) : undefined;
  const checks = [
    ...storeChecks(store, connection, metrics),
    { name: 'tombstones', check: () => purged.check() },
    ...(receivers?.checks ?? []),
  ];
  const otlp = buildOtlpAddresses(config, receivers);
  const revised = {
    initial: parts,
    stores: { opened, ...purgeAware },
    scorer,
    connection,
    senders,
    status: { roles, otlp, kind: connection.kind, checks, ...stateReaders(scorer, receivers) },
  };
  const { control, findStore } = await openRevisions(revised, deps);
  const listening = await api.open({ checks, findStore, signIns: createSignIns(store) });
  const probes = formatUrl(listening, config.api.tls);
  const { url, username, password, database } = connection.options;
  const clickhouse = { url, username, password, database };
  const addresses = { ...otlp, api: findStore === undefined ? null : probes, probes, clickhouse };
  rejectAborted(deps.signal);
  limitHeap(roles);
  const reload = control && (await startLocalReload(() => control.reload()));
  const file = { ...addresses, reload: reload?.address };
  const isOwner = engine !== undefined;
  started.push(...(reload ? [reload.part] : []), logStarted(config.store.dataDir, file, { log, isOwner }));
  engine?.mark('serving');
  const { lost, watch } = watchLender(connection);
  started.push(watch);
  return { addresses, storeKind: connection.kind, control, lost };
}

/** Returns the readers of the states that the status shows, of the roles that this process has. */
function stateReaders(scorer: ScorerRole | undefined, receivers: Receivers | undefined) {
  return { scorer: scorer && (() => scorer.status()), sources: receivers?.sources };
}

/**
 * Returns true when spans are read from foreign tables: then no receiver starts. Waits for missing tables (the Collector
 * creates them when it starts). Throws for tables that lack columns.
 */
async function readsForeignSpans(config: Config, store: Store, log: Log): Promise<boolean> {
  if (config.store.spans === undefined) {
    return false;
  }
  try {
    const source = await store.describeSource();
    await store.watchSource();
    log.info('spans are read from foreign tables; no receiver starts', { source });
  } catch (error) {
    if (!(error instanceof AppError) || !error.retryable) {
      throw error;
    }
    log.warn('the tables of store.spans cannot be read yet; retrying', { error });
  }
  return true;
}

/** Interval of the checks that the owner of a shared engine still runs, milliseconds. */
const LENDER_CHECK_MS = 1_000;

function watchLender(connection: StoreConnection): { lost: Promise<void>; watch: StartedPart } {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  const timer = setInterval(() => {
    if (connection.isLost?.() === true) {
      clearInterval(timer);
      resolve();
    }
  }, LENDER_CHECK_MS);
  return { lost, watch: { name: 'watch', stage: 'address', stop: async () => clearInterval(timer) } };
}

function storeChecks(store: Store, { engine }: StoreConnection, metrics: Metrics): readonly ReadinessCheck[] {
  const reachable = { name: 'store', check: () => store.ping() };
  if (engine === undefined) {
    return [reachable];
  }
  metrics.observe(() => engineReadings(engine));
  return [reachable, engineCheck(engine)];
}

/**
 * Writes the addresses for local commands: those of the owner of the directory, else of the first `serve` that runs there.
 */
function logStarted(
  dataDir: string,
  addresses: Omit<ServeFile, 'pid'>,
  { log, isOwner }: { log: Log; isOwner: boolean },
): StartedPart {
  const other = isOwner ? undefined : readServeFile(dataDir);
  if (other !== undefined && other.pid !== process.pid) {
    log.info('another serve runs on this directory; its address file is kept', { pid: other.pid });
    return { name: 'address file', stage: 'address', stop: async () => undefined };
  }
  writeServeFile(dataDir, { pid: process.pid, ...addresses });
  return { name: 'address file', stage: 'address', stop: async () => removeServeFile(dataDir, process.pid) };
}

/** The receivers of one process. */
interface Receivers {
  /** Addresses of the receivers that listen, by name. */
  readonly addresses: ReadonlyMap<string, ListenAddress>;
  readonly checks: readonly ReadinessCheck[];
  /** Returns the states of the sources. */
  readonly sources: () => SourceState[];
}

/** Configures the receivers that a configuration has options for. Throws a `ConfigError` for a file that cannot be used. */
export async function configureReceivers(
  config: Pick<Config, 'receivers'>,
  kinds: readonly ReceiverDefinition[],
  log: Log,
): Promise<Map<string, StartReceiver>> {
  const starts = await Promise.all(
    listReceivers(config, kinds).map(
      async ({ section, options }) => [section.name, await section.configure(options, log)] as const,
    ),
  );
  return new Map(starts);
}

/** Starts every receiver that a configuration asks for. Throws `ConfigError` when an address cannot be used. */
async function startReceivers(
  config: Config,
  senders: Senders,
  { store, purged }: PurgeAwareStore,
  { started, log, metrics }: ServeDependencies,
): Promise<Receivers> {
  const [{ startCollector, ingestOptions, collectorReadings, collectorChecks }, { bearerTokens }] =
    await Promise.all([import('../collector/collector.ts'), import('../collector/receivers/receiver.ts')]);
  const readTokens = () => ({ tokens: senders.tokens, check: bearerTokens(senders.tokens) });
  let known = readTokens();
  const { configureSources } = await import('./sources/start-sources.ts');
  const sources = configureSources(config.sources, {
    cursors: store.sourceCursors,
    engineFiles: store.engineFiles,
    startDuties: () => startDuties(store.duties),
  });
  const starts = await configureReceivers(config, RECEIVERS, log);
  if (Object.keys(config.sources).length > 0) {
    starts.set('sources', sources.start);
  }
  const collector = await startCollector({
    sink: store.sink,
    deadLetters: store.deadLetters,
    purged,
    ...ingestOptions(config),
    receivers: starts,
    authenticate: (headers) => {
      known = known.tokens === senders.tokens ? known : readTokens();
      return known.check(headers);
    },
    metrics,
    log,
  });
  started.push({ name: 'receivers', stage: 'work', stop: () => collector.stop() });
  metrics.observe(() => collectorReadings(collector));
  return { addresses: collector.addresses, checks: collectorChecks(collector), sources: sources.states };
}

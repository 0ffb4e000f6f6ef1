import type { ConfigControl } from '../config/config-control.ts';
import { readServerTls } from '../config/tls-files.ts';
import { parseEndpoint, type Config } from '../configuration.ts';
import { MIB } from '../domain/byte-sizes.ts';
import { NotFoundError, readErrorMessage } from '../domain/errors.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import { dashboardFolder } from '../process/package.ts';
import type { StartedPart } from '../process/parts.ts';
import { type WatchedTraces, withoutPurged } from '../purge/purged-traces.ts';
import type { ScorerKit } from '../scoring/setup/scorer-kit.ts';
import type { Store } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Caller, SignIns } from './access/request-access.ts';
import { createApi } from './api.ts';
import { readDashboardFiles } from './dashboard/dashboard.ts';
import type { ReadStatus } from './serve-status.ts';
import { startApiServer } from './server.ts';
import { createTenantStores, type ProcessReads, type TenantStore } from './tenant-store.ts';
import { createScoringOnDemand } from './writes/scoring.ts';

/** HTTP server of a `serve` process: probes and metrics from the beginning, further routes when all parts have started. */
export type ServeApi = Awaited<ReturnType<typeof startServeApi>>;

/**
 * Listens, so that a supervisor can probe the process while it starts. When the port is in use, it tries again in `open`: the process
 * that stops on the same data directory may still have the port.
 * @param hasApi false for a process without the role `api`, which has the probes and the metrics only
 */
export async function startServeApi(
  config: Config,
  { hasApi, log, metrics }: { readonly hasApi: boolean; readonly log: Log; readonly metrics: Metrics },
) {
  let awaited = 'the process';
  let checks: readonly ReadinessCheck[] = [
    { name: 'start', check: () => Promise.reject(new Error(`the start waits for ${awaited}`)) },
  ];
  let findStore: (caller: Caller) => TenantStore | 'starting' | 'none' = () => 'starting';
  let signIns = NO_SIGN_INS;
  const tls = readServerTls(config.api.tls, 'api.tls');
  const dashboard = hasApi ? readDashboardFiles(dashboardFolder()) : undefined;
  const createApp = (tokens: Config['auth']['tokens']) =>
    createApi({
      ...config.api,
      scheme: tls === undefined ? 'http' : 'https',
      tokens,
      signIns: { readKey: () => signIns.readKey(), hasEnded: (id) => signIns.hasEnded(id) },
      dashboard,
      checks: () => checks,
      metrics,
      findStore: (caller) => findStore(caller),
      log,
    });
  let app = createApp(config.auth.tokens);
  const fetch: typeof app.fetch = (...request) => app.fetch(...request);
  const listen = () => startApiServer({ ...parseEndpoint(config.api.endpoint), tls, fetch, log });
  let api = await listen().catch((error: unknown) => {
    log.debug('the API tries to listen again later', { error: readErrorMessage(error) });
    return undefined;
  });

  return {
    /** Names the part that the start waits for, for `/readyz`. */
    waitFor(part: string): void {
      awaited = part;
    },
    /**
     * Ends the start. Returns the address; null when the process has no role `api` and its port is in use. Throws `AppError` when a
     * process with the role cannot listen.
     */
    async open(parts: {
      readonly checks: readonly ReadinessCheck[];
      /** Returns the store of a caller, which shows its tenant only. Absent: the process has only probes. */
      readonly findStore?: ((caller: Caller) => TenantStore) | undefined;
      /** Sign-ins of browsers. Absent: nobody can sign in. */
      readonly signIns?: SignIns | undefined;
    }) {
      checks = parts.checks;
      findStore = parts.findStore ?? (() => 'none');
      signIns = parts.signIns ?? NO_SIGN_INS;
      try {
        api ??= await listen();
      } catch (error) {
        if (hasApi) {
          throw error;
        }
        log.warn('this process answers no probes: its port is in use', { error: readErrorMessage(error) });
      }
      return api?.address ?? null;
    },
    /** Answers further requests with other tokens and stores. */
    replace(tokens: Config['auth']['tokens'], next: ((caller: Caller) => TenantStore) | undefined): void {
      app = createApp(tokens);
      findStore = next ?? findStore;
    },
    /** Answers the requests under way, then closes. */
    stop: async () => api?.stop(),
  };
}

const NO_SIGN_INS: SignIns = {
  readKey: () =>
    Promise.reject(new NotFoundError('nobody can sign in to a process without a store: send a bearer token')),
  hasEnded: async () => true,
};

/** Limits of each query of a request: it ends before the request does. */
const QUERY_LIMITS = { maxSeconds: 20, maxBytes: 1024 * MIB };

/** Additions to the API of a process that scores. */
export interface ScorerParts {
  readonly kit: ScorerKit;
  readonly reads: ProcessReads;
}

export interface ApiStoreDeps extends Partial<ScorerParts> {
  /** Store that shows purged traces, too. */
  readonly opened: Store;
  /** The same store without purged traces. */
  readonly store: Store;
  readonly purged: WatchedTraces;
  readonly control?: ConfigControl | undefined;
  /** Parts of the process that it stops. */
  readonly started: StartedPart[];
  readonly log: Log;
}

/**
 * Opens the stores of the API's callers: with limits, connections of their own, and without purged traces. Throws a `ConfigError` for
 * monitors that cannot be used.
 */
export async function openTenantStores(
  config: Config,
  readStatus: ReadStatus,
  { opened, store, purged, kit, reads, control, started, log }: ApiStoreDeps,
): Promise<(caller: Caller) => TenantStore> {
  const onDemand = createScoringOnDemand({ config, store, purged, kit, log });
  const stopping = new AbortController();
  started.push(
    { name: 'scoring on demand', stage: 'exporters', stop: () => onDemand.stop() },
    { name: 'event streams', stage: 'address', stop: async () => stopping.abort() },
  );
  return createTenantStores({
    ...reads,
    config,
    store,
    reads: withoutPurged(opened.limitReads(QUERY_LIMITS), purged),
    purged,
    onDemand,
    stopping: stopping.signal,
    control,
    readStatus,
  });
}

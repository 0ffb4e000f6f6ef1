import { createApi } from '../api/api.ts';
import type { SignIns } from '../api/access/request-access.ts';
import type { Caller } from '../api/api-env.ts';
import type { ApiPorts } from '../api/ports.ts';
import { readDashboardFiles } from '../api/dashboard/dashboard-files.ts';
import { startApiServer, type ApiServer } from '../api/server.ts';
import { readServerTls } from '../config/tls-files.ts';
import { NotFoundError, readErrorMessage } from '../domain/errors.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { parseEndpoint, type Config } from './config/index.ts';
import { dashboardFolder } from './dashboard-folder.ts';

/** HTTP server of a `serve` process: probes and metrics from the beginning, further routes when all parts have started. */
export interface ServeApi {
  /** Names the part that the start waits for, for `/readyz`. */
  waitFor(part: string): void;
  /**
   * Ends the start. Returns the address; null when the process has no role `api` and its port is in use. Throws `AppError` when a
   * process with the role cannot listen.
   */
  open(parts: {
    readonly checks: readonly ReadinessCheck[];
    /** Returns the ports of a caller, which see its tenant only. Absent: the process has only probes. */
    readonly findPorts?: ((caller: Caller) => ApiPorts) | undefined;
    /** Sign-ins of browsers. Absent: nobody can sign in. */
    readonly signIns?: SignIns | undefined;
  }): Promise<ApiServer['address'] | null>;
  /** Answers the requests under way, then closes. */
  stop(): Promise<void>;
}

/**
 * Listens, so that a supervisor can probe the process while it starts. When the port is in use, it tries again in `open`: the process
 * that stops on the same data directory may still have the port.
 * @param options hasApi: false for a process without the role `api`, which has the probes and the metrics only
 */
export async function startServeApi(
  config: Config,
  options: { readonly hasApi: boolean; readonly log: Log; readonly metrics: Metrics },
): Promise<ServeApi> {
  const { hasApi, log, metrics } = options;
  let awaited = 'the process';
  let checks: readonly ReadinessCheck[] = [
    { name: 'start', check: () => Promise.reject(new Error(`the start waits for ${awaited}`)) },
  ];
  let findPorts: (caller: Caller) => ApiPorts | 'starting' | 'none' = () => 'starting';
  let signIns = NO_SIGN_INS;
  const tls = readServerTls(config.api.tls, 'api.tls');
  const app = createApi({
    scheme: tls === undefined ? 'http' : 'https',
    hosts: config.api.hosts,
    publicUrl: config.api.publicUrl,
    trustedProxies: config.api.trustedProxies,
    requestsPerMinute: config.api.requestsPerMinute,
    tokens: config.auth.tokens,
    signIns: { readKey: () => signIns.readKey(), hasEnded: (id) => signIns.hasEnded(id) },
    dashboard: hasApi ? readDashboardFiles(dashboardFolder()) : undefined,
    checks: () => checks,
    metrics,
    findPorts: (caller) => findPorts(caller),
    log,
  });
  const listen = () => startApiServer({ ...parseEndpoint(config.api.endpoint), tls, fetch: app.fetch, log });
  let api = await listen().catch((error: unknown) => {
    log.debug('the API tries to listen again later', { error: readErrorMessage(error) });
    return undefined;
  });

  return {
    waitFor(part) {
      awaited = part;
    },
    async open(parts) {
      checks = parts.checks;
      findPorts = parts.findPorts ?? (() => 'none');
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
    stop: async () => api?.stop(),
  };
}

const NO_SIGN_INS: SignIns = {
  readKey: () =>
    Promise.reject(new NotFoundError('nobody can sign in to a process without a store: send a bearer token')),
  hasEnded: async () => true,
};

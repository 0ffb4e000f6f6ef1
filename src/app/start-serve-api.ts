import { metricsRoute } from '../api/metrics-route.ts';
import { startApi, type Api, type Route } from '../api/api.ts';
import { createAccessCheck } from '../config/access.ts';
import { readServerTls } from '../config/tls-files.ts';
import { readErrorMessage } from '../domain/errors.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { parseEndpoint, type Config } from './config/index.ts';

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
    readonly routes: readonly Route[];
  }): Promise<Api['address'] | null>;
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
  const probes = [metricsRoute(() => metrics.text())];
  let routes: readonly Route[] | null = null;
  const tls = readServerTls(config.api.tls, 'api.tls');
  const listen = () =>
    startApi({
      ...parseEndpoint(config.api.endpoint),
      tls,
      checkAccess: createAccessCheck(config.auth.tokens),
      checks: () => checks,
      routes: () => ({ ready: [...probes, ...(routes ?? [])], isStarting: routes === null }),
      log,
    });
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
      routes = parts.routes;
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

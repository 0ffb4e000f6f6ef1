import type { SignIns, Caller } from '../../../src/api/access/request-access.ts';
import { createApi } from '../../../src/api/api.ts';
import type { DashboardFiles } from '../../../src/api/dashboard/dashboard.ts';
import { startApiServer, type ApiServer } from '../../../src/api/server.ts';
import type { TenantStore } from '../../../src/api/tenant-store.ts';
import type { AccessToken } from '../../../src/config/access.ts';
import type { ServerTls } from '../../../src/config/tls-files.ts';
import type { ReadinessCheck } from '../../../src/domain/readiness-check.ts';
import { silentLog, type Log } from '../../../src/telemetry/log.ts';
import type { Metrics } from '../../../src/telemetry/metrics.ts';
import { fakeStore } from './fake-store.ts';

export interface TestApiOptions {
  readonly tokens?: readonly AccessToken[];
  readonly checks?: readonly ReadinessCheck[];
  readonly port?: number;
  readonly hosts?: readonly string[];
  readonly tls?: ServerTls | undefined;
  readonly requestsPerMinute?: number;
  /** Default: the limit of the API. */
  readonly maxRequestMs?: number;
  readonly publicUrl?: string;
  readonly trustedProxies?: readonly string[];
  /** Default: sign-ins that never end by a sign-out. */
  readonly signIns?: SignIns;
  /** Called with each count of the metrics. Default: nothing. */
  readonly onCount?: Metrics['add'];
  /** Default: none. */
  readonly log?: Log;
  readonly dashboard?: DashboardFiles;
  /** Default: a store without rows, whose status is the tenant of the caller. */
  readonly findStore?: (caller: Caller) => TenantStore | 'starting' | 'none';
}

/** Starts the HTTP API on loopback. */
export async function startTestApi(options: TestApiOptions = {}): Promise<ApiServer> {
  const { tls, hosts = [], checks = [], port = 0, log = silentLog } = options;
  const { fetch } = createApi({
    scheme: tls === undefined ? 'http' : 'https',
    hosts,
    tokens: options.tokens ?? [],
    requestsPerMinute: options.requestsPerMinute ?? 100_000,
    maxRequestMs: options.maxRequestMs,
    publicUrl: options.publicUrl,
    trustedProxies: options.trustedProxies ?? [],
    signIns: options.signIns ?? { readKey: async () => 'key-of-cookies', hasEnded: async () => false },
    dashboard: options.dashboard,
    checks: () => checks,
    metrics: { text: async () => 'a 1\n', add: options.onCount ?? (() => undefined) },
    findStore:
      options.findStore ?? (({ tenant }) => fakeStore({ status: async () => ({ of: tenant ?? 'any' }) })),
    log,
  });
  return startApiServer({ host: '127.0.0.1', port, tls, fetch, log });
}

import type { Caller } from '../../../src/api/access/request-access.ts';
import type { TenantStore } from '../../../src/api/tenant-store.ts';
import { type ConfigInput, parseConfig } from '../../../src/configuration.ts';
import { createSignIns } from '../../../src/api/writes/audit.ts';
import { leaveOutPurged } from '../../../src/purge/configured-purge.ts';
import { openTenantStores } from '../../../src/api/serve-api.ts';
import { createServeStatus } from '../../../src/api/serve-status.ts';
import { stopParts, type StartedPart } from '../../../src/process/parts.ts';
import type { ConfigControl, ReloadAnswer } from '../../../src/config/config-control.ts';
import type { Scope } from '../../../src/config/access.ts';
import { openStore, type Store, type StoreOptions } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { startStoreGate, type StoreGate } from '../store/store-gate.ts';
import { testStore } from '../store/store-rows.ts';
import { startTestApi, type TestApiOptions } from './start-test-api.ts';

/** Reply of the API. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export interface ApiRequest {
  /** Default: GET. */
  readonly method?: string;
  /** Below `/api/v1`, with its query. */
  readonly path: string;
  /** Absent: none. */
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Address of an API. */
export interface ListeningApi {
  readonly port: number;
  ask(request: ApiRequest): Promise<ApiAnswer>;
}

/** API on a real store, as in `serve`. */
export interface ApiWorld extends ListeningApi {
  readonly store: Store;
  readonly options: StoreOptions;
  /** Way of the API to its store. */
  readonly gate: StoreGate;
  readonly findStore: (caller: Caller) => TenantStore;
  /** Starts the API with other limits on the same store. It stops with the world. */
  listen(options: TestApiOptions): Promise<ListeningApi>;
  stop(): Promise<void>;
}

/** Text of the token with a scope, of a tenant ('' for all tenants). */
export function tokenOf(scope: Scope, tenant = ''): string {
  return `the-${scope}-token-of-tenant-${tenant}`;
}

/** Control of a configuration that never changes. */
const STEADY: ConfigControl = {
  reload: async () => UNCHANGED,
  apply: async () => ({
    diff: '',
    applied: false,
    reason: null,
    file: '/c.yaml',
    backup: null,
    reload: null,
  }),
  state: () => ({ file: '/c.yaml', revision: 1, loadedAt: UNCHANGED.at, lastReload: UNCHANGED }),
};

const UNCHANGED: ReloadAnswer = {
  outcome: 'unchanged',
  revision: 1,
  at: '2026-01-01T00:00:00.000Z',
  changed: [],
  issues: [],
  needsRestart: [],
};

/** Starts the API with a token for each scope of some tenants (default: `a` and `b`) and of all tenants. */
export async function apiWorld(
  tenants: readonly string[] = ['a', 'b'],
  judges: NonNullable<ConfigInput['judges']> = {},
): Promise<ApiWorld> {
  const config = parseConfig({
    store: { purgeKey: 'the key of purges in tests' },
    readiness: { decisionWait: '1ms' },
    judges,
  });
  const base = await testStore();
  const gate = await startStoreGate(base.options.url);
  const opened = await openStore({ ...base.options, url: gate.url });
  const { store, purged } = await leaveOutPurged(config, opened, silentLog);
  const started: StartedPart[] = [];
  const status = createServeStatus({
    config,
    control: STEADY,
    otlp: { otlpHttp: null, otlpGrpc: null },
    roles: ['api'],
    kind: 'server',
    checks: [{ name: 'store', check: () => store.ping() }],
    scorer: undefined,
  });
  const findStore = await openTenantStores(config, status, {
    opened,
    store,
    purged,
    started,
    control: STEADY,
    log: silentLog,
  });
  const tokens = [...tenants, ''].flatMap((tenant) =>
    (['read', 'label', 'admin', 'ingest'] as const).map((scope) => ({
      name: `${scope} of ${tenant}`,
      token: tokenOf(scope, tenant),
      tenant,
      scopes: [scope],
    })),
  );
  const listen: ApiWorld['listen'] = async (options) => {
    const api = await startTestApi({ tokens, signIns: createSignIns(store), findStore, ...options });
    started.push({ name: 'api', stage: 'address', stop: () => api.stop() });
    const { port } = api.address;
    return { port, ask: (request) => askApi(port, request) };
  };
  return {
    ...(await listen({})),
    store,
    options: base.options,
    gate,
    findStore,
    listen,
    async stop() {
      gate.set('open');
      await stopParts(started, silentLog);
      purged.stop();
      await opened.close();
      await gate.close();
      await base.stop();
    },
  };
}

async function askApi(
  port: number,
  { method = 'GET', path, token, body, headers = {} }: ApiRequest,
): Promise<ApiAnswer> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

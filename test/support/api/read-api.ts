import { type ConfigInput, parseConfig } from '../../../src/configuration.ts';
import type { DashboardFiles } from '../../../src/api/dashboard/dashboard.ts';
import { createTenantStores, type ProcessReads } from '../../../src/api/tenant-store.ts';
import { createServeStatus } from '../../../src/api/serve-status.ts';
import type { AccessToken } from '../../../src/config/access.ts';
import type { Store } from '../../../src/store/store.ts';
import { testStore, type TestStore } from '../store/store-rows.ts';
import { startTestApi } from './start-test-api.ts';

/** Reply of the API, read as JSON. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown> & {
    readonly items: readonly Record<string, unknown>[];
    readonly next: string | null;
    readonly detail: string;
  };
}

/** API on a store of its own. */
export interface ReadApi {
  readonly base: TestStore;
  readonly store: Store;
  readonly address: string;
  /** Asks a path below `/api/v1/`. */
  ask(path: string, token?: string, headers?: Record<string, string>): Promise<Answer>;
  /** Reads all pages of a list, and does something after each. */
  readAll(path: string, between?: () => Promise<void>): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

/** Starts the API with a configuration on a new store. */
export async function startReadApi(
  options: {
    readonly config?: ConfigInput;
    readonly tokens?: readonly AccessToken[];
    readonly dashboard?: DashboardFiles;
    readonly ofProcess?: ProcessReads;
  } = {},
): Promise<ReadApi> {
  const base = await testStore();
  const config = parseConfig(options.config ?? {});
  const readStatus = createServeStatus({
    config,
    otlp: { otlpHttp: null, otlpGrpc: null },
    roles: ['api'],
    kind: 'server',
    checks: [{ name: 'store', check: () => base.store.ping() }],
    scorer: undefined,
  });
  const api = await startTestApi({
    ...(options.tokens === undefined ? {} : { tokens: options.tokens }),
    ...(options.dashboard === undefined ? {} : { dashboard: options.dashboard }),
    findStore: await createTenantStores({ ...options.ofProcess, config, store: base.store, readStatus }),
  });
  const address = `http://127.0.0.1:${api.address.port}/api/v1`;
  const ask: ReadApi['ask'] = async (path, token, headers = {}) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(`${address}/${path}`, { headers: { ...authorization, ...headers } });
    const text = await response.text();
    const body = JSON.parse(text === '' ? '{}' : text) as Answer['body'];
    return { status: response.status, headers: response.headers, body };
  };
  return {
    base,
    store: base.store,
    address,
    ask,
    readAll: async (path, between = async () => undefined) => {
      const found: Record<string, unknown>[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const { status, body }: Answer = await ask(`${path}${cursor && `&cursor=${cursor}`}`);
        if (status !== 200) {
          throw new Error(`${path}: ${status} ${body.detail}`);
        }
        found.push(...body.items);
        cursor = body.next;
        await between();
      }
      return found;
    },
    stop: async () => {
      await api.stop();
      await base.stop();
    },
  };
}

import type { ConfigInput } from '../../../src/app/config/index.ts';
import type { DashboardFiles } from '../../../src/api/dashboard/dashboard-files.ts';
import { parseConfig } from '../../../src/app/config/index.ts';
import { configuredPorts } from '../../../src/app/monitors/configured-ports.ts';
import type { ProcessReads } from '../../../src/app/reads/read-ports.ts';
import { createServeStatus } from '../../../src/app/serve-status.ts';
import type { AccessToken } from '../../../src/config/access.ts';
import type { Store } from '../../../src/store/contracts/store.ts';
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

/** Starts the API with the ports of a configuration on a new store. */
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
  const findPorts = await configuredPorts(config, base.store, options.ofProcess);
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
    findPorts: (caller) => ({
      status: () => readStatus(base.store, caller.tenant),
      store: findPorts(caller),
    }),
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

import type { StoreConnection } from './store/connect-store.ts';
import type { Config } from './config/index.ts';
import type { Receivers } from './start-receivers.ts';

/** Addresses of a running `serve`; null for a role that it does not have. */
export interface ServeAddresses {
  readonly otlpHttp: string | null;
  readonly otlpGrpc: string | null;
  readonly api: string | null;
  /** Address of `/healthz`, `/readyz` and `/metrics`, which every role has; null when the port was in use. */
  readonly probes: string | null;
  readonly clickhouse: { url: string; username: string; password: string; database: string };
}

function formatUrl({ host, port }: { host: string; port: number }, tls: object | undefined): string {
  return `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Parts of a process that have addresses. */
interface AddressedParts {
  readonly connection: StoreConnection;
  readonly receivers: Receivers | undefined;
  readonly listening: { readonly host: string; readonly port: number } | null;
  readonly hasApi: boolean;
}

/** Addresses for spans. */
export type OtlpAddresses = Pick<ServeAddresses, 'otlpHttp' | 'otlpGrpc'>;

/** Builds the addresses for spans of a started process. */
export function buildOtlpAddresses(
  { receivers: { otlp } }: Config,
  receivers: Receivers | undefined,
): OtlpAddresses {
  const [http, grpc] = ['otlp-http', 'otlp-grpc'].map((name) => receivers?.addresses.get(name));
  return {
    otlpHttp: http === undefined ? null : formatUrl(http, otlp.http.tls),
    otlpGrpc: grpc === undefined ? null : formatUrl(grpc, otlp.grpc.tls),
  };
}

/** Builds the addresses of a started process. */
export function buildAddresses(
  config: Config,
  { connection, receivers, listening, hasApi }: AddressedParts,
): ServeAddresses {
  const probes = listening === null ? null : formatUrl(listening, config.api.tls);
  return {
    ...buildOtlpAddresses(config, receivers),
    api: hasApi ? probes : null,
    probes,
    clickhouse: buildStoreAddress(connection),
  };
}

function buildStoreAddress({ options }: StoreConnection): ServeAddresses['clickhouse'] {
  const { url, username, password, database } = options;
  return { url, username, password, database };
}

import { parseEndpoint } from '../../src/config/index.ts';
import { readServerTls } from '../../src/config/tls-files.ts';
import type { ListenOptions } from './receiver.ts';

/** Listener settings of a receiver; `at` is its key, for errors. Throws `ConfigError` for TLS files that cannot be used. */
export function listenOptions(
  { endpoint, tls }: { readonly endpoint: string; readonly tls?: Parameters<typeof readServerTls>[0] },
  at: string,
): ListenOptions {
  return { ...parseEndpoint(endpoint), tls: readServerTls(tls, `${at}.tls`) };
}

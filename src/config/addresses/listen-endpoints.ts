import type { KeyPath } from '../key-path.ts';
import type { Config } from '../schema.ts';
import { listReceivers, type ReceiverSection, type TlsPaths } from '../schema/components.ts';

/** Address on which the program listens. */
export interface ListenEndpoint {
  /** Path of the group that has the keys `endpoint` and `tls`. */
  readonly path: KeyPath;
  readonly endpoint: string;
  readonly tls: TlsPaths | undefined;
}

/** Lists the addresses of the receivers that listen, and that of the API. */
export function listEndpoints(
  config: Pick<Config, 'receivers' | 'api'>,
  receivers: readonly ReceiverSection[],
): ListenEndpoint[] {
  const { endpoint: apiEndpoint, tls: apiTls } = config.api;
  return [
    ...listReceivers(config, receivers).flatMap(({ path, options: { endpoint, tls } }) =>
      endpoint === undefined ? [] : [{ path, endpoint, tls }],
    ),
    { path: ['api'], endpoint: apiEndpoint, tls: apiTls },
  ];
}

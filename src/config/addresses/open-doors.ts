import { isLoopbackHost, parseEndpoint } from './endpoint.ts';
import { listEndpoints } from './listen-endpoints.ts';
import type { Config } from '../schema.ts';
import type { ReceiverSection } from '../schema/components.ts';

/** Returns warnings about endpoints that a valid configuration opens to the network. */
export function listOpenDoors(config: Config, receivers: readonly ReceiverSection[]): string[] {
  const doors = listEndpoints(config, receivers)
    .map(({ path, ...rest }) => ({ path: path.join('.'), ...rest }))
    .filter(({ endpoint }) => !isLoopbackHost(parseEndpoint(endpoint).host));
  return doors.flatMap(({ path, endpoint, tls }) => {
    if (config.auth.tokens.length === 0) {
      return [`${path}.endpoint: everyone who can reach ${endpoint} may send spans: set auth.tokens`];
    }
    return tls === undefined
      ? [
          `${path}: tokens sent to ${endpoint} are readable on the network: set ${path}.tls, or put a TLS proxy in front`,
        ]
      : [];
  });
}

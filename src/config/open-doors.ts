import { isLoopbackHost, parseEndpoint } from './endpoint.ts';
import type { Config } from './schema.ts';

/** Returns warnings about endpoints that a valid configuration opens to the network. */
export function listOpenDoors({ receivers: { otlp }, api, auth }: Config): string[] {
  const doors = [
    { path: 'receivers.otlp.http', ...otlp.http },
    { path: 'receivers.otlp.grpc', ...otlp.grpc },
    { path: 'api', ...api },
  ].filter(({ endpoint }) => !isLoopbackHost(parseEndpoint(endpoint).host));
  return doors.flatMap(({ path, endpoint, tls }) => {
    if (auth.tokens.length === 0) {
      return [`${path}.endpoint: everyone who can reach ${endpoint} may send spans: set auth.tokens`];
    }
    return tls === undefined
      ? [
          `${path}: tokens sent to ${endpoint} are readable on the network: set ${path}.tls, or put a TLS proxy in front`,
        ]
      : [];
  });
}

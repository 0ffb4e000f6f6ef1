import { isLoopbackHost, parseEndpoint } from './endpoint.ts';
import type { Config } from './schema.ts';

/** Warnings on doors that a valid configuration opens to the network. */
export function openDoors({ receivers: { otlp }, api, auth }: Config): string[] {
  const doors = [
    { path: 'receivers.otlp.http', ...otlp.http },
    { path: 'receivers.otlp.grpc', ...otlp.grpc },
    { path: 'api', ...api },
  ].filter(({ endpoint }) => !isLoopbackHost(parseEndpoint(endpoint).host));
  return doors.flatMap(({ path, endpoint, tls }) => {
    if (auth.tokens.length === 0) {
      return [`${path}.endpoint: everybody who reaches ${endpoint} may send spans: set auth.tokens`];
    }
    return tls === undefined
      ? [
          `${path}: tokens that come to ${endpoint} can be read on the way: set ${path}.tls, or put a proxy before it`,
        ]
      : [];
  });
}

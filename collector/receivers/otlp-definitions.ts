import { z } from 'zod';
import { endpoint, serverTls } from '../../src/config/schema/fields.ts';
import { defineReceiver, type ListenOptions } from './receiver.ts';
import { parseEndpoint } from '../../src/config/index.ts';
import { readServerTls } from '../../src/config/tls-files.ts';

/** Description of the group `receivers.otlp`. */
export const OTLP_GROUP = 'OpenTelemetry Protocol.';

/** Field for the TLS files of an OTLP receiver. */
const otlpTls = serverTls('TLS of this address. Without it, spans are readable on the network.');

export const otlpHttpReceiver = defineReceiver({
  name: 'otlp-http',
  key: 'receivers.otlp.http',
  group: OTLP_GROUP,
  options: z
    .strictObject({
      endpoint: endpoint('Address that receives OTLP over HTTP.').default('127.0.0.1:4318'),
      tls: otlpTls,
    })
    .describe('OTLP over HTTP: protobuf and JSON, traces and logs.'),
  isAlwaysOn: true,
  configure: async (options) => {
    const where = listenOptions(options, 'receivers.otlp.http');
    const { startOtlpHttp } = await import('./otlp-http.ts');
    return (deps) => startOtlpHttp(where, deps);
  },
});

export const otlpGrpcReceiver = defineReceiver({
  name: 'otlp-grpc',
  key: 'receivers.otlp.grpc',
  group: OTLP_GROUP,
  options: z
    .strictObject({
      endpoint: endpoint('Address that receives OTLP over gRPC.').default('127.0.0.1:4317'),
      tls: otlpTls,
    })
    .describe('OTLP over gRPC: traces and logs.'),
  isAlwaysOn: true,
  configure: async (options) => {
    const where = listenOptions(options, 'receivers.otlp.grpc');
    const { startOtlpGrpc } = await import('./otlp-grpc.ts');
    return (deps) => startOtlpGrpc(where, deps);
  },
});

/** Listener settings of a receiver; `at` is its key, for errors. Throws `ConfigError` for TLS files that cannot be used. */
export function listenOptions(
  {
    endpoint: address,
    tls,
  }: { readonly endpoint: string; readonly tls?: Parameters<typeof readServerTls>[0] },
  at: string,
): ListenOptions {
  return { ...parseEndpoint(address), tls: readServerTls(tls, `${at}.tls`) };
}

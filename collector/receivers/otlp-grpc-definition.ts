import { z } from 'zod';
import { endpoint } from '../../src/config/schema/fields.ts';
import { listenOptions } from './listen-options.ts';
import { OTLP_GROUP, otlpTls } from './otlp-fields.ts';
import { defineReceiver } from './receiver-definition.ts';

/** The receiver of OTLP over gRPC. */
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

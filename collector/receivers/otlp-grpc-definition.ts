import { OtlpGrpc } from '../../src/config/schema/receivers.ts';
import { listenOptions } from './listen-options.ts';
import type { ReceiverDefinition } from './receiver-definition.ts';

/** The receiver of OTLP over gRPC. */
export const otlpGrpcReceiver: ReceiverDefinition = {
  name: 'otlp-grpc',
  key: 'receivers.otlp.grpc',
  options: OtlpGrpc,
  configure: async ({ receivers }) => {
    const where = listenOptions(receivers.otlp.grpc, 'receivers.otlp.grpc');
    const { startOtlpGrpc } = await import('./otlp-grpc.ts');
    return (deps) => startOtlpGrpc(where, deps);
  },
};

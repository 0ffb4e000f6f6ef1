import { OtlpHttp } from '../../src/config/schema/receivers.ts';
import { listenOptions } from './listen-options.ts';
import type { ReceiverDefinition } from './receiver-definition.ts';

/** The receiver of OTLP over HTTP. */
export const otlpHttpReceiver: ReceiverDefinition = {
  name: 'otlp-http',
  key: 'receivers.otlp.http',
  options: OtlpHttp,
  configure: async ({ receivers }) => {
    const where = listenOptions(receivers.otlp.http, 'receivers.otlp.http');
    const { startOtlpHttp } = await import('./otlp-http.ts');
    return (deps) => startOtlpHttp(where, deps);
  },
};

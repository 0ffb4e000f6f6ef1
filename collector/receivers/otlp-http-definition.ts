import { z } from 'zod';
import { endpoint } from '../../src/config/schema/fields.ts';
import { listenOptions } from './listen-options.ts';
import { OTLP_GROUP, otlpTls } from './otlp-fields.ts';
import { defineReceiver } from './receiver-definition.ts';

/** The receiver of OTLP over HTTP. */
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

import { z } from 'zod';
import { endpoint, serverTls } from './fields.ts';

/** Schema of the HTTP API. */
export const Api = z.strictObject({
  endpoint: endpoint('Address of the API, /healthz, /readyz and /metrics.').default('127.0.0.1:4320'),
  tls: serverTls('TLS of the API.'),
});

/** Schema of the program's log. */
export const Logging = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest level that is logged.'),
  format: z.enum(['text', 'json']).default('text').describe('text for people, json for log collectors.'),
});

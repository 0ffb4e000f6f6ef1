import { z } from 'zod';
import { endpoint, serverTls, wholeNumber } from './fields.ts';

/** Schema of the HTTP API. */
export const Api = z.strictObject({
  endpoint: endpoint('Address of the API, /healthz, /readyz and /metrics.').default('127.0.0.1:4320'),
  hosts: z
    .array(z.string().regex(/^[a-z0-9.-]+$/u, { error: 'write a host name in lower case, without port' }))
    .default([])
    .describe(
      'Names under which users reach the API, beside localhost and IP addresses. Requests to other names are refused, so that no foreign page can ask.',
    ),
  requestsPerMinute: wholeNumber(
    'Most requests of one token to one process of the API. Further ones are answered with 429 and Retry-After. Without tokens, all senders share one limit.',
    { unit: 'requests per minute', max: 1_000_000 },
  ).default(6_000),
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

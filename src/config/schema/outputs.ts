import { z } from 'zod';
import { isPublicUrl } from '../addresses/public-url.ts';
import { endpoint, httpUrl, networks, serverTls, wholeNumber } from './fields.ts';

/** Schema of the HTTP API. */
export const Api = z.strictObject({
  endpoint: endpoint('Address of the API, /healthz, /readyz and /metrics.').default('127.0.0.1:4320'),
  hosts: z
    .array(z.string().regex(/^[a-z0-9.-]+$/u, { error: 'write a host name in lower case, without port' }))
    .default([])
    .describe(
      'Names under which users reach the API, beside localhost and IP addresses. Requests to other names are refused, so that no foreign page can ask.',
    ),
  publicUrl: httpUrl(
    'Address of the dashboard behind a proxy, with the path that the proxy adds. Browsers may ask from its pages, cookies follow it, and alerts link to it. Its host needs no entry in api.hosts.',
    'users sign in with tokens',
  )
    .refine(isPublicUrl, { error: 'must have no query, and a path of letters, digits and . _ ~ - only' })
    .meta({ examples: ['https://scores.example.com/base'] })
    .optional(),
  trustedProxies: networks(
    'Addresses and networks (10.0.0.0/8) of proxies whose X-Forwarded-For, -Proto, -Host and -Prefix count. With api.publicUrl, only X-Forwarded-For does.',
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

import { z } from 'zod';
import { endpoint, headers, hookUrl, httpUrl, secret, serverTls, wholeNumber } from './fields.ts';

const attempts = wholeNumber(
  'Number of attempts to deliver a score that fails while others are delivered, before it becomes a dead letter (spanscore dlq).',
  { unit: 'attempts', max: 100 },
).default(10);

/** Schema of the OTLP exporter. */
export const OtlpExport = z
  .strictObject({
    endpoint: httpUrl('Base URL of an OTLP/HTTP receiver; /v1/traces and /v1/logs are appended.').meta({
      examples: ['http://127.0.0.1:4328'],
    }),
    as: z
      .array(z.enum(['span-event', 'log']))
      .min(1, { error: 'needs span-event, log or both' })
      .default(['span-event', 'log'])
      .describe('Form of a score: an event on an evaluation span, a log record, or both.'),
    headers: headers('Request headers, like authorization.').default({}),
    attempts,
  })
  .describe('Scores as OpenTelemetry gen_ai.evaluation.result events.');

/** Schema of the webhook exporter. */
export const WebhookExport = z
  .strictObject({
    url: hookUrl('URL for scores. Each score is one POST with a JSON body.'),
    secret: secret('Secret that signs requests, as Standard Webhooks defines.').optional(),
    attempts,
  })
  .describe('Scores as signed HTTP requests.');

/** Schema of score exporters: one line each, by the name of its definition. */
export const Exporters = z.strictObject({
  otlp: OtlpExport.optional(),
  webhook: WebhookExport.optional(),
});

/** Options of every exporter. */
export type ExporterOptions = z.infer<typeof Exporters>;

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

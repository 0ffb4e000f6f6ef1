import { z } from 'zod';
import { exportAttempts, headers, httpUrl } from '../../config/schema/fields.ts';
import { defineExporter } from './exporter-definition.ts';

/** The exporter `exporters.otlp`. */
export const otlpExporter = defineExporter({
  name: 'otlp',
  options: z
    .strictObject({
      endpoint: httpUrl(
        'Base URL of an OTLP/HTTP receiver; /v1/traces and /v1/logs are appended.',
        'write them into headers, as authorization',
      ).meta({
        examples: ['http://127.0.0.1:4328'],
      }),
      as: z
        .array(z.enum(['span-event', 'log']))
        .min(1, { error: 'needs span-event, log or both' })
        .default(['span-event', 'log'])
        .describe('Form of a score: an event on an evaluation span, a log record, or both.'),
      headers: headers('Request headers, like authorization.').default({}),
      attempts: exportAttempts,
    })
    .describe('Scores as OpenTelemetry gen_ai.evaluation.result events.'),
  readOtlpUrl: ({ endpoint }) => ({ key: 'endpoint', url: endpoint }),
  create: async (options, version) =>
    (await import('./otlp-exporter.ts')).createOtlpExporters({ ...options, version }),
});

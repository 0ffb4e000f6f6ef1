import { z } from 'zod';
import { exportAttempts, hookUrl, secret } from '../../config/schema/fields.ts';
import { defineExporter } from './exporter-definition.ts';

/** The exporter `exporters.webhook`. */
export const webhookExporter = defineExporter({
  name: 'webhook',
  options: z
    .strictObject({
      url: hookUrl(
        'URL for scores. Each score is one POST with a JSON body.',
        'put a key into the path or the query, or sign the requests with secret',
      ),
      secret: secret('Secret that signs requests, as Standard Webhooks defines.').optional(),
      attempts: exportAttempts,
    })
    .describe('Scores as signed HTTP requests.'),
  create: async (options) => [(await import('./webhook-exporter.ts')).createWebhookExporter(options)],
});

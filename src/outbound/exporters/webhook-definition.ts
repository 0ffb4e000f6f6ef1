import { WebhookExport } from '../../config/schema/outputs.ts';
import type { ExporterDefinition } from './exporter-definition.ts';

/** The exporter `exporters.webhook`. */
export const webhookExporter: ExporterDefinition = {
  name: 'webhook',
  options: WebhookExport,
  create: async ({ webhook }) =>
    webhook === undefined ? [] : [(await import('./webhook-exporter.ts')).createWebhookExporter(webhook)],
};

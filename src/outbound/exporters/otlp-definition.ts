import { OtlpExport } from '../../config/schema/outputs.ts';
import type { ExporterDefinition } from './exporter-definition.ts';

/** The exporter `exporters.otlp`. */
export const otlpExporter: ExporterDefinition = {
  name: 'otlp',
  options: OtlpExport,
  create: async ({ otlp }, version) =>
    otlp === undefined ? [] : (await import('./otlp-exporter.ts')).createOtlpExporters({ ...otlp, version }),
};

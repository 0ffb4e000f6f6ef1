import { z } from 'zod';
import type { ExporterSection } from './components.ts';
import { wholeNumber } from './fields.ts';

/** Field for the number of attempts of an exporter. */
export const exportAttempts = wholeNumber(
  'Number of attempts to deliver a score that fails while others are delivered, before it becomes a dead letter (spanscore dlq).',
  { unit: 'attempts', max: 100 },
).default(10);

/** Schema of `exporters`: one key for each exporter. */
export type ExportersSchema<Exporters extends readonly ExporterSection[]> = z.ZodObject<
  { [Exporter in Exporters[number] as Exporter['name']]: z.ZodOptional<Exporter['options']> },
  z.core.$strict
>;

/** Creates the schema of `exporters` for a list of exporters. */
export function createExportersSchema<const Exporters extends readonly ExporterSection[]>(
  exporters: Exporters,
): ExportersSchema<Exporters> {
  const keys = exporters.map(({ name, options }) => [name, options.optional()]);
  return z.strictObject(Object.fromEntries(keys)) as unknown as ExportersSchema<Exporters>;
}

import type { z } from 'zod';
import type { ExporterOptions } from '../../config/schema/outputs.ts';
import type { ScoreExporter } from './score-exporter.ts';

/** An exporter of scores as its own folder defines it. Its code is loaded by `create`. */
export interface ExporterDefinition {
  /** Key of its options under `exporters` in the configuration. */
  readonly name: keyof ExporterOptions;
  /** Options that the configuration takes; their description is the line of the documentation. */
  readonly options: z.ZodType;
  /** Its exporters, which are none where it is not configured; `version` is that of this program. */
  create(exporters: ExporterOptions, version: string): Promise<ScoreExporter[]>;
}

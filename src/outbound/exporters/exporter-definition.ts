import type { z } from 'zod';
import type { ExporterSection } from '../../config/schema/components.ts';
import type { ScoreExporter } from './score-exporter.ts';

/** Exporter of scores, defined in its own folder. `create` loads its code. */
export interface ExporterDefinition<
  Name extends string = string,
  Options extends z.ZodType = z.ZodType,
> extends ExporterSection<Name, Options> {
  /** Creates the exporters of its options; `version` is that of this program. */
  create(options: z.infer<Options>, version: string): Promise<ScoreExporter[]>;
}

/** Defines an exporter; returns the definition with the types of its name and its options. */
export function defineExporter<const Name extends string, Options extends z.ZodType>(
  definition: ExporterDefinition<Name, Options>,
): ExporterDefinition<Name, Options> {
  return definition;
}

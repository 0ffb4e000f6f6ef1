import type { Config } from '../config/index.ts';
import { readOptions } from '../config/schema/components.ts';
import type { KindOptions } from '../config/schema/sources.ts';
import type { LabelReader } from '../labels/import-labels.ts';
import { createLangfuseLabels } from './langfuse.ts';
import { createMlflowLabels } from './mlflow.ts';
import { createPhoenixLabels } from './phoenix.ts';

/** Creates the readers of labels that a configuration names: by the connection of the source of that name, else of the exporter. */
export function createLabelReaders({
  labels,
  sources,
  exporters,
}: Pick<Config, 'labels' | 'sources' | 'exporters'>): LabelReader[] {
  return labels.from.flatMap((name) => {
    const { phoenix, langfuse, mlflow } = sources[name] ?? {
      phoenix: name === 'phoenix' ? readOptions(exporters, name) : undefined,
      langfuse: name === 'langfuse' ? readOptions(exporters, name) : undefined,
      mlflow: name === 'mlflow' ? readOptions(exporters, name) : undefined,
    };
    return [
      ...(phoenix === undefined ? [] : [createPhoenixLabels(phoenix as KindOptions<'phoenix'>)]),
      ...(langfuse === undefined ? [] : [createLangfuseLabels(langfuse as KindOptions<'langfuse'>)]),
      ...(mlflow === undefined ? [] : [createMlflowLabels(mlflow as KindOptions<'mlflow'>)]),
    ];
  });
}

import { readOptions } from '../../config/schema/components.ts';
import type { Duties } from '../../ownership/duties.ts';
import { packageVersion } from '../../process/package.ts';
import type { StartedPart } from '../../process/parts.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics, Reading } from '../../telemetry/metrics.ts';
import type { ExporterDefinition } from './exporter-definition.ts';
import type { ScoreExportLoop } from './score-export-loop.ts';
import type { ScoreExporter } from './score-exporter.ts';

/** Creates the exporters of some kinds that a configuration has options for. */
export async function createExporters(
  section: object,
  kinds: readonly ExporterDefinition[],
): Promise<ScoreExporter[]> {
  const created = await Promise.all(
    kinds.map(async (kind) => {
      const options = readOptions(section, kind.name);
      return options === undefined ? [] : kind.create(options, packageVersion());
    }),
  );
  return created.flat();
}

/** Starts to export scores. Starts nothing without an exporter. */
export async function startExports(
  section: object,
  kinds: readonly ExporterDefinition[],
  store: Pick<Store, 'scoreFeed' | 'deadLetters'>,
  { duties, log, metrics }: { readonly duties: Duties; readonly log: Log; readonly metrics: Metrics },
): Promise<StartedPart[]> {
  const exporters = await createExporters(section, kinds);
  if (exporters.length === 0) {
    return [];
  }
  const { createScoreExportLoop } = await import('./score-export-loop.ts');
  const dutyName = (exporter: string) => `export ${exporter}`;
  duties.join(exporters.map(({ name }) => dutyName(name)));
  const exporting = createScoreExportLoop(
    exporters,
    {},
    {
      feed: store.scoreFeed,
      deadLetters: store.deadLetters,
      duties: {
        readEpoch: (exporter) => duties.readEpoch(dutyName(exporter)),
        leave: (exporter) => duties.leave(dutyName(exporter)),
      },
      log,
      random: Math.random,
    },
  );
  try {
    await exporting.start();
  } catch (error) {
    await exporting.stop();
    throw error;
  }
  metrics.observe(() => exportReadings(exporting));
  return [{ name: 'exporters', stage: 'exporters', stop: () => exporting.stop() }];
}

function exportReadings(exporting: Pick<ScoreExportLoop, 'counts'>): Reading[] {
  return [...exporting.counts()].flatMap(([exporter, { delivered, dead, failedDeliveries }]) => [
    {
      name: 'spanscore.export.scores',
      value: delivered,
      labels: { exporter, outcome: 'delivered' },
    } as const,
    { name: 'spanscore.export.scores', value: dead, labels: { exporter, outcome: 'given_up' } } as const,
    { name: 'spanscore.export.failures', value: failedDeliveries, labels: { exporter } } as const,
  ]);
}

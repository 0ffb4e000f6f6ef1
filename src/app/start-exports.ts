import { EXPORTERS } from '../components.ts';
import type { Config } from './config/index.ts';
import { readOptions } from '../config/schema/components.ts';
import type { DeliveryLoop } from '../delivery/deliver.ts';
import { startScoreDelivery } from '../delivery/deliver-scores.ts';
import type { ExporterDefinition, ScoreExporter } from '../delivery/exporters/exporter.ts';
import type { Duties } from '../ownership/duties.ts';
import type { Store } from '../store/contracts/store.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics, Reading } from '../telemetry/metrics.ts';
import { packageVersion } from './package-version.ts';
import type { StartedPart } from './stop-parts.ts';

/** Creates the exporters of some kinds that a configuration has options for. */
export function createExporters(section: object, kinds: readonly ExporterDefinition[]): ScoreExporter[] {
  return kinds.flatMap((kind) => {
    const options = readOptions(section, kind.name);
    return options === undefined ? [] : kind.create(options, packageVersion());
  });
}

/** Starts the configured exporters. Starts nothing without one. */
export async function startExports(
  config: Config,
  store: Pick<Store, 'scoreFeed' | 'deadLetters'>,
  { duties, log, metrics }: { readonly duties: Duties; readonly log: Log; readonly metrics: Metrics },
): Promise<StartedPart[]> {
  const exporters = createExporters(config.exporters, EXPORTERS);
  if (exporters.length === 0) {
    return [];
  }
  const dutyName = (exporter: string) => `export ${exporter}`;
  duties.join(exporters.map(({ name }) => dutyName(name)));
  const exporting = await startScoreDelivery(
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
  metrics.observe(() => exportReadings(exporting));
  return [{ name: 'exporters', stage: 'exporters', stop: () => exporting.stop() }];
}

function exportReadings(exporting: Pick<DeliveryLoop, 'counts'>): Reading[] {
  return [...exporting.counts()].flatMap(([exporter, { delivered, dead, failures }]) => [
    {
      name: 'spanscore.export.scores',
      value: delivered,
      labels: { exporter, outcome: 'delivered' },
    } as const,
    { name: 'spanscore.export.scores', value: dead, labels: { exporter, outcome: 'given_up' } } as const,
    { name: 'spanscore.export.failures', value: failures, labels: { exporter } } as const,
  ]);
}

import { signalsWith } from '../src/conventions/agent-signals.ts';
import type { Config } from '../src/config/index.ts';
import type { CollectorOptions } from './collector.ts';

/** Ingest settings of a collector from the configuration. */
export function ingestOptions(
  config: Pick<Config, 'ingest'> & Partial<Pick<Config, 'conventions'>>,
): Required<Pick<CollectorOptions, 'keep' | 'limits' | 'signals'>> {
  const { limits, keep } = config.ingest;
  return {
    keep,
    signals: signalsWith(config.conventions),
    limits: {
      maxBodyBytes: limits.requestBytes,
      maxInFlightBytes: limits.inFlightBytes,
      maxConnections: limits.connections,
      maxRecords: limits.records,
      maxRowBytes: limits.spanBytes,
      maxTextBytes: limits.textBytes,
      maxAttributes: limits.attributes,
      maxEvents: limits.events,
      maxLinks: limits.links,
    },
  };
}

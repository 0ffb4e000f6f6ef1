import type { Config } from '../src/config/index.ts';
import type { CollectorOptions } from './collector.ts';

/** Ingest settings of a collector from the configuration. */
export function ingestOptions(
  config: Pick<Config, 'ingest'>,
): Required<Pick<CollectorOptions, 'keep' | 'limits'>> {
  const { limits, keep } = config.ingest;
  return {
    keep,
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

import { type Config, parseEndpoint } from '../src/config/index.ts';
import { readServerTls } from '../src/config/tls-files.ts';
import type { CollectorOptions } from './collector.ts';
import type { ListenOptions } from './receivers/receiver.ts';

/**
 * Returns the addresses and ingest settings of a collector from the configuration. Throws a `ConfigError` for TLS files
 * that cannot be used.
 */
export function ingestOptions(
  config: Config,
): Required<Pick<CollectorOptions, 'http' | 'grpc' | 'keep' | 'limits'>> {
  const { limits, keep } = config.ingest;
  return {
    http: listenOptions(config, 'http'),
    grpc: listenOptions(config, 'grpc'),
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

function listenOptions(config: Config, protocol: 'http' | 'grpc'): ListenOptions {
  const { endpoint, tls } = config.receivers.otlp[protocol];
  return { ...parseEndpoint(endpoint), tls: readServerTls(tls, `receivers.otlp.${protocol}.tls`) };
}

import { describe, expect, it } from 'vitest';
import { ingestOptions } from '../../../collector/configured-ingest.ts';
import { DEFAULT_COLLECTOR_LIMITS } from '../../../collector/limits.ts';
import { listenOptions } from '../../../collector/receivers/listen-options.ts';
import { type ConfigInput, parseConfig } from '../../../src/configuration.ts';

const FILES = new URL('../../fixtures/tls/', import.meta.url);
const tls = { cert: new URL('server.pem', FILES).pathname, key: new URL('server.key', FILES).pathname };

function buildOptions(input: ConfigInput) {
  const config = parseConfig({ ...input, rules: [] });
  const { http, grpc } = config.receivers.otlp;
  return {
    ...ingestOptions(config),
    http: listenOptions(http, 'receivers.otlp.http'),
    grpc: listenOptions(grpc, 'receivers.otlp.grpc'),
  };
}

describe('the settings of a collector from a configuration', () => {
  it('without any key are the defaults of the collector, on loopback', () => {
    const { limits, keep, http, grpc } = buildOptions({});
    expect({ ...DEFAULT_COLLECTOR_LIMITS, ...limits }).toEqual(DEFAULT_COLLECTOR_LIMITS);
    expect([keep, http, grpc]).toEqual([
      'all',
      { host: '127.0.0.1', port: 4318, tls: undefined },
      { host: '127.0.0.1', port: 4317, tls: undefined },
    ]);
  });

  it('has every limit, what is kept, and TLS for each receiver', () => {
    const options = buildOptions({
      receivers: { otlp: { grpc: { endpoint: '[::1]:0', tls } } },
      ingest: {
        keep: 'agent-spans',
        limits: {
          requestBytes: 1_000_000,
          inFlightBytes: 2_000_000,
          records: 3,
          connections: 4,
          spanBytes: 500_000,
          textBytes: 6_000,
          attributes: 7,
          events: 8,
          links: 9,
        },
      },
    });
    expect(options).toMatchObject({
      keep: 'agent-spans',
      grpc: { host: '::1', port: 0, tls: { requestCert: false } },
      limits: {
        maxBodyBytes: 1_000_000,
        maxInFlightBytes: 2_000_000,
        maxRecords: 3,
        maxConnections: 4,
        maxRowBytes: 500_000,
        maxTextBytes: 6_000,
        maxAttributes: 7,
        maxEvents: 8,
        maxLinks: 9,
      },
    });
  });

  it('names the receiver whose files cannot be used', () => {
    const missing = { ...tls, key: '/nowhere/server.key' };
    expect(() => buildOptions({ receivers: { otlp: { http: { tls: missing } } } })).toThrow(
      'receivers.otlp.http.tls.key: cannot read /nowhere/server.key: ENOENT',
    );
  });
});

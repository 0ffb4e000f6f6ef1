import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import { startEmbeddedEngine } from '../../../src/store/embedded/engine.ts';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { type Otelcol, startOtelcol } from '../../support/collector/otelcol.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { testCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

const program = await goProgram('otelcol');
const NAMES = Array.from({ length: 20 }, (_, index) => `span ${index}`);
/** Retry time that we ask for: above the Collector's own wait. */
const RETRY_AFTER_MS = 2_000;
const OWN_WAIT = '50ms';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) {
    await cleanup();
  }
});

/** A Collector with one exporter that tries again, and a way to send it one span after the other. */
async function collectorTo(
  exporter: string,
  settings: Record<string, unknown>,
): Promise<{ otelcol: Otelcol; send: (names: readonly string[]) => Promise<void> }> {
  const [port = 0] = await freePorts(1);
  const retry = { initial_interval: OWN_WAIT, max_interval: OWN_WAIT, randomization_factor: 0 };
  const otelcol = await startOtelcol('binary' in program ? program.binary : '', {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { [exporter]: { ...settings, retry_on_failure: retry } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: [exporter] } },
    },
  });
  cleanups.push(() => otelcol.stop());
  return {
    otelcol,
    send: async (names) => {
      for (const name of names) {
        const response = await fetch(`http://127.0.0.1:${port}/v1/traces`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(traceRequest([jsonSpan({ name })])),
        });
        expect(response.status).toBe(200);
      }
    },
  };
}

/** Waits that the Collector announced before its retries, milliseconds. */
function announcedWaits(otelcol: Otelcol): number[] {
  const line = /Will retry the request after interval.*"interval": "([\d.]+)(ms|s)"/g;
  const waits = [...otelcol.output().matchAll(line)];
  return waits.map(([, amount, unit]) => Number(amount) * (unit === 's' ? 1_000 : 1));
}

describe.skipIf('missing' in program)('a Collector whose spans cannot be stored for a while', () => {
  it.each(['otlp_http', 'otlp_grpc'])(
    'waits as long as we ask by %s, and loses nothing',
    async (exporter) => {
      const { collector, sink } = await testCollector({
        grpc: { host: '127.0.0.1', port: 0 },
        limits: { retryAfterMs: RETRY_AFTER_MS, patienceMs: 50 },
      });
      cleanups.push(() => collector.stop());
      let isDown = true;
      sink.before = () => {
        if (isDown) {
          throw new StoreUnavailableError('the store is down');
        }
      };
      const http = `http://127.0.0.1:${collector.address.port}`;
      const grpc = `127.0.0.1:${collector.grpcAddress?.port}`;
      const endpoint = exporter === 'otlp_http' ? http : grpc;
      const { otelcol, send } = await collectorTo(exporter, { endpoint, tls: { insecure: true } });

      await send(NAMES);
      await until(() => announcedWaits(otelcol).length >= NAMES.length / 2);
      isDown = false;
      await until(() => sink.rows().length >= NAMES.length);

      const stored = sink.rows().map((row) => row['SpanName']);
      expect(stored).toHaveLength(NAMES.length);
      expect(new Set(stored)).toEqual(new Set(NAMES));
      expect(Math.min(...announcedWaits(otelcol))).toBeGreaterThanOrEqual(RETRY_AFTER_MS);
    },
  );

  it('writes to the engine again when that was killed and has come back, and loses nothing', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-retry-'));
    cleanups.push(() => rmSync(dataDir, { recursive: true }));
    let deaths = 0;
    const engine = await startEmbeddedEngine({ dataDir, onExit: () => deaths++ });
    cleanups.push(() => engine.stop());
    const { url: endpoint, username, password } = engine;
    const { otelcol, send } = await collectorTo('clickhouse', {
      endpoint,
      username,
      password,
      compress: 'gzip',
    });

    await send(NAMES.slice(0, 5));
    process.kill(engine.pid, 'SIGKILL');
    await send(NAMES.slice(5));
    await until(() => announcedWaits(otelcol).length > 0);

    const stored = async (): Promise<Set<string>> => {
      const address = { url: endpoint, username, password, database: 'default' };
      const sql = 'SELECT DISTINCT SpanName FROM otel_traces';
      // Nobody answers until it has come back.
      const rows = await queryRows<{ SpanName: string }>(address, sql).catch(() => []);
      return new Set(rows.map(({ SpanName }) => SpanName));
    };
    await until(async () => (await stored()).size >= NAMES.length, 60_000);
    expect(await stored()).toEqual(new Set(NAMES));
    expect(deaths).toBe(1);
  });
});

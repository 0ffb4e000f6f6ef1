import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jsonLog, jsonSpan, logRequest, traceRequest } from '../../support/builders/otlp-requests.ts';
import { type Otelcol, startOtelcol } from '../../support/collector/otelcol.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { COLLECTOR_METRICS } from '../../support/documents/asked-metrics.ts';
import { type HttpReceiver, startHttpReceiver } from '../../support/fakes/http-receiver.ts';
import { freePorts } from '../../support/processes/free-ports.ts';

const deploy = fileURLToPath(new URL('../../../deploy/otel-collector/', import.meta.url));
const program = await goProgram('otelcol');

describe.skipIf('missing' in program)('the metrics of a real gateway, for alerts and dashboards', () => {
  let folder: string;
  let destination: HttpReceiver;
  let gateway: Otelcol;
  let http: number;
  let metrics: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'spanscore-collector-metrics-'));
    destination = await startHttpReceiver();
    const [httpPort = 0, grpc = 0, health = 0, metricsPort = 0] = await freePorts(4);
    http = httpPort;
    metrics = metricsPort;
    gateway = await startOtelcol(
      'binary' in program ? program.binary : '',
      ['gateway.yaml', 'to-spanscore.yaml'].map((file) => join(deploy, file)),
      {
        GATEWAY_HTTP: `127.0.0.1:${http}`,
        GATEWAY_GRPC: `127.0.0.1:${grpc}`,
        HEALTH_ADDRESS: `127.0.0.1:${health}`,
        METRICS_PORT: String(metrics),
        QUEUE_FOLDER: join(folder, 'queue'),
        SPANSCORE_ADDRESS: destination.url,
        INGEST_TOKEN: 'a-token-of-the-gateway',
      },
    );
  });

  afterEach(async () => {
    await gateway.stop();
    await destination.close();
    rmSync(folder, { recursive: true });
  });

  async function send(path: string, body: unknown): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${http}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
  }

  /** Reads the sum of the series of each metric, by its name without `_total`. */
  async function readMetrics(): Promise<Map<string, number>> {
    const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    const sums = new Map<string, number>();
    for (const [, name = '', value] of text.matchAll(/^(otelcol_\w+?)(?:_total)?\{.*\} (\S+)$/gm)) {
      sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
    return sums;
  }

  const read = async (name: (typeof COLLECTOR_METRICS)[number]) => (await readMetrics()).get(name);

  it('have every name, and count as lost what the destination refuses for good', async () => {
    destination.answer(400);
    await send('/v1/traces', traceRequest([jsonSpan({})]));
    await send('/v1/logs', logRequest([jsonLog({})]));

    await expect.poll(() => read('otelcol_exporter_send_failed_spans')).toBe(1);
    await expect.poll(() => read('otelcol_exporter_send_failed_log_records')).toBe(1);
    const told = await readMetrics();
    expect(COLLECTOR_METRICS.filter((name) => !told.has(name))).toEqual([]);
    expect(told.get('otelcol_exporter_queue_size')).toBe(0);
  });

  it('count as waiting, and not as lost, what a destination takes later', async () => {
    destination.answer(503);
    await send('/v1/traces', traceRequest([jsonSpan({})]));
    await expect.poll(() => destination.requests.length).toBeGreaterThan(2);

    expect((await read('otelcol_exporter_send_failed_spans')) ?? 0).toBe(0);
    expect(await read('otelcol_exporter_queue_size')).toBeGreaterThan(0);

    destination.answer(200);
    await expect.poll(() => read('otelcol_exporter_queue_size')).toBe(0);
    expect((await read('otelcol_exporter_send_failed_spans')) ?? 0).toBe(0);
  });
});

import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServe, type Serve } from '../../../src/serve.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { metricValue } from '../../support/documents/metric-lines.ts';
import { sendTraces } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'spanscore-telemetry-'));
const any = { endpoint: '127.0.0.1:0' };
let serve: Serve;

beforeAll(async () => {
  serve = await startServe(
    {
      store: { dataDir: join(folder, 'data') },
      receivers: { otlp: { http: any, grpc: any } },
      api: any,
      rules: [{ name: 'all', scorers: ['keyword-coverage'] }],
      readiness: { decisionWait: '100ms', maxWait: '5s' },
    },
    { log: silentLog },
  );
});

afterAll(async () => {
  await serve.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function metrics(): Promise<string> {
  const response = await fetch(`${serve.addresses.api}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return response.text();
}

function enginePid(): number {
  const file = readFileSync(join(folder, 'data', 'engine.json'), 'utf8');
  return (JSON.parse(file) as { pid: number }).pid;
}

type Checks = Record<string, { readonly ok: boolean } | undefined>;

async function ready() {
  const response = await fetch(`${serve.addresses.api}/readyz`);
  return { status: response.status, body: (await response.json()) as { checks: Checks } };
}

describe('the metrics of a running serve', () => {
  it('count received spans, written rows, decisions and scores', async () => {
    const trace = anAgentTrace();
    expect(await sendTraces(serve.addresses.otlpHttp ?? '', trace.request())).toBe(200);
    expect(await sendTraces(serve.addresses.otlpHttp ?? '', [])).toBe(400);
    let text = '';
    await until(async () => {
      text = await metrics();
      return metricValue(text, 'spanscore_decisions_total{status="scored"}') === 1;
    });

    const value = (series: string) => metricValue(text, series);
    expect(value('spanscore_receiver_requests_total')).toBe(2);
    expect(value('spanscore_receiver_requests_refused_total{reason="input_invalid"}')).toBe(1);
    expect(value('spanscore_receiver_records_written_total{signal="traces"}')).toBe(4);
    expect(value('spanscore_receiver_duration_seconds_count{transport="http"}')).toBe(1);
    expect(value('spanscore_insert_rows_sum{table="otel_traces"}')).toBe(4);
    expect(value('spanscore_insert_size_bytes_count{table="otel_traces"}')).toBe(1);
    expect(value('spanscore_insert_duration_seconds_count{table="otel_traces",outcome="stored"}')).toBe(1);
    expect(value('spanscore_receiver_held_bytes')).toBe(0);
    expect(value('spanscore_insert_pending_bytes')).toBe(0);
    expect(value('spanscore_receiver_oldest_request_age_seconds')).toBe(0);
    expect(value('spanscore_scores_written_total{scorer="keyword-coverage"}')).toBe(1);
    expect(value('spanscore_scoring_traces{state="queued"}')).toBe(0);
  });

  it('tell how the process and its engine are', async () => {
    const text = await metrics();
    const MIB = 1024 * 1024;
    expect(metricValue(text, 'process_memory_usage_bytes')).toBeGreaterThan(20 * MIB);
    expect(metricValue(text, 'process_cpu_time_seconds_total{cpu_mode="user"}')).toBeGreaterThan(0);
    expect(metricValue(text, 'nodejs_eventloop_delay_p99_seconds')).toBeGreaterThan(0);
    expect(metricValue(text, 'spanscore_engine_up')).toBe(1);
  });

  it.runIf(process.platform === 'linux')('tell what memory the engine holds', async () => {
    expect(metricValue(await metrics(), 'spanscore_engine_memory_usage_bytes')).toBeGreaterThan(
      50 * 1024 * 1024,
    );
  });

  it('tell the size of the disk of the data directory, and what is free of it', async () => {
    const { blocks, bsize } = statfsSync(join(folder, 'data'));
    const text = await metrics();
    const free = metricValue(text, 'spanscore_disk_free_bytes');
    expect(metricValue(text, 'spanscore_disk_limit_bytes')).toBe(blocks * bsize);
    expect(free).toBeGreaterThan(0);
    expect(free).toBeLessThan(blocks * bsize);
  });

  it('bring no label that a sender chose', async () => {
    const trace = anAgentTrace();
    const request = JSON.stringify(trace.request()).replaceAll('weather', 'name-of-a-sender');
    await sendTraces(serve.addresses.otlpHttp ?? '', JSON.parse(request));
    expect(await metrics()).not.toContain('name-of-a-sender');
  });
});

describe('the readiness of a running serve', () => {
  it('names every part', async () => {
    const { status, body } = await ready();
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'ready',
      checks: {
        store: { ok: true },
        engine: { ok: true },
        receivers: { ok: true },
        inserts: { ok: true },
        tombstones: { ok: true },
      },
    });
  });

  it('says that the store does not answer while its process is stopped', async () => {
    const pid = enginePid();
    process.kill(pid, 'SIGSTOP');
    try {
      const { status, body } = await ready();
      expect(status).toBe(503);
      expect(body.checks).toMatchObject({
        store: { ok: false, error: 'no answer within 2000 ms' },
        engine: { ok: true },
        receivers: { ok: true },
      });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await until(async () => (await ready()).status === 200);
  });

  it('says that the engine has ended, until it runs again', async () => {
    const pid = enginePid();
    process.kill(pid, 'SIGKILL');
    let last = await ready();
    // Its connections are reset a moment before its end is told: until then only the store fails.
    await until(async () => {
      last = await ready();
      return last.body.checks['engine']?.ok === false;
    });
    expect(last.status).toBe(503);
    expect(last.body.checks['engine']).toEqual({
      ok: false,
      error: 'the embedded engine has ended and is starting again',
    });
    await until(async () => (await ready()).status === 200);
    expect(enginePid()).not.toBe(pid);
    expect(metricValue(await metrics(), 'spanscore_engine_up')).toBe(1);
  });
});

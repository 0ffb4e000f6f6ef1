import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { unavailable } from '../../support/fakes/recording-sink.ts';
import { sdkLogs, sdkSpans } from '../../support/builders/sdk-records.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';

type ExportResult = Parameters<Parameters<JsonExporter['export']>[1]>[0];

let collector: TestCollector;

afterEach(async () => {
  vi.unstubAllEnvs();
  await collector.stop();
});

function formatUrl(path: string): string {
  return `http://${collector.address.host}:${collector.address.port}${path}`;
}

/** Exports once; 0 is success. */
function exportOnce(
  exporter: { export(spans: ReadableSpan[], done: (result: ExportResult) => void): void },
  spans: ReadableSpan[],
): Promise<ExportResult> {
  return new Promise((resolve) => exporter.export(spans, resolve));
}

describe('the real exporters of the OpenTelemetry SDK', () => {
  it('land equal rows as JSON and as protobuf, plain and gzipped', async () => {
    const started = await testCollector();
    collector = started.collector;
    const spans = sdkSpans(3);
    const url = formatUrl('/v1/traces');
    const plain = [new JsonExporter({ url }), new ProtobufExporter({ url })];
    vi.stubEnv('OTEL_EXPORTER_OTLP_COMPRESSION', 'gzip');
    const exporters = [...plain, new JsonExporter({ url }), new ProtobufExporter({ url })];
    for (const exporter of exporters) {
      expect((await exportOnce(exporter, spans)).code).toBe(0);
      await exporter.shutdown();
    }
    const rows = started.sink.rows();
    const [first, ...others] = exporters.map((_, i) => rows.slice(i * spans.length, (i + 1) * spans.length));
    expect(first?.map((row) => row['SpanName'])).toEqual(spans.map((span) => span.name));
    for (const other of others) {
      expect(other).toEqual(first);
    }
  });

  it('land GenAI events', async () => {
    const started = await testCollector();
    collector = started.collector;
    const exporter = new OTLPLogExporter({ url: formatUrl('/v1/logs') });
    const result = await new Promise<ExportResult>((resolve) => exporter.export(sdkLogs(), resolve));
    await exporter.shutdown();
    expect(result.code).toBe(0);
    expect(started.sink.rows('otel_logs').map((row) => row['EventName'])).toEqual(['gen_ai.choice']);
  });

  it('deliver later by their own retry when the store was down', async () => {
    const started = await testCollector({ limits: { insertRetries: 0 } });
    collector = started.collector;
    started.sink.before = unavailable(2);
    const exporter = new ProtobufExporter({ url: formatUrl('/v1/traces'), timeoutMillis: 20_000 });
    const spans = sdkSpans();
    expect((await exportOnce(exporter, spans)).code).toBe(0);
    await exporter.shutdown();
    expect(started.sink.rows().map((row) => row['SpanName'])).toEqual(spans.map((span) => span.name));
    expect(collector.count('spanscore.receiver.requests')).toBe(3);
    expect(collector.count('spanscore.receiver.requests.refused')).toBe(2);
  });
});

import { readFileSync } from 'node:fs';
import { JsonMetricsSerializer, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLog } from '../../../src/telemetry/log.ts';
import { framed, grpcCall } from '../../support/collector/grpc-call.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import { testCollector, type TestCollector } from '../../support/collector/test-collector.ts';
import type { RecordingSink } from '../../support/fakes/recording-sink.ts';

const METHOD = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';
const REJECTED = '3 data points rejected: spanscore stores no metrics';
const REPORTED = JSON.parse(
  readFileSync(new URL('../../fixtures/reports/25-metrics-signal/metrics.json', import.meta.url), 'utf8'),
) as object;

let collector: TestCollector;
let sink: RecordingSink;
let lines: string[];

beforeEach(async () => {
  lines = [];
  const log = createLog('info', { destination: { write: (line) => void lines.push(line) } });
  ({ collector, sink } = await testCollector({ grpc: { host: '127.0.0.1', port: 0 }, log }));
});
afterEach(() => collector.stop());

/** Metrics of the SDK with three data points: two of a sum, one of a histogram. */
async function collectMetrics() {
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA),
  });
  const resource = resourceFromAttributes({ 'service.name': 'shop' });
  const meter = new MeterProvider({ resource, readers: [reader] }).getMeter('m');
  meter.createCounter('requests').add(7, { path: '/a' });
  meter.createCounter('requests').add(1, { path: '/b' });
  meter.createHistogram('duration').record(0.5);
  const { resourceMetrics } = await reader.collect();
  await reader.shutdown();
  return resourceMetrics;
}

const send = (options: Parameters<typeof post>[1]) =>
  post(collector.address, { path: '/v1/metrics', ...options });

it('metrics in JSON get a success that says how many are rejected', async () => {
  const { status, body } = await send({ body: REPORTED });
  expect([status, JSON.parse(body)]).toEqual([
    200,
    {
      partialSuccess: {
        rejectedDataPoints: '1',
        errorMessage: '1 data points rejected: spanscore stores no metrics',
      },
    },
  ]);
  const ofSdk = await send({
    body: Buffer.from(JsonMetricsSerializer.serializeRequest(await collectMetrics()) ?? ''),
  });
  expect(JSON.parse(ofSdk.body)).toMatchObject({ partialSuccess: { errorMessage: REJECTED } });
});

it('metrics of the real SDK in protobuf get the same success over HTTP and gRPC', async () => {
  const request = ProtobufMetricsSerializer.serializeRequest(await collectMetrics()) ?? Buffer.alloc(0);
  const http = await send(protobuf(request));
  const grpc = await grpcCall(collector.grpcAddress!, { path: METHOD, body: framed(request) });
  expect([http.status, grpc.status]).toEqual([200, 0]);
  for (const body of [Buffer.from(http.body), grpc.body]) {
    const reply = ProtobufMetricsSerializer.deserializeResponse(body);
    expect(reply).toMatchObject({ partialSuccess: { rejectedDataPoints: 3, errorMessage: REJECTED } });
  }
});

it('metrics are not stored, and the log says it once', async () => {
  const request = ProtobufMetricsSerializer.serializeRequest(await collectMetrics()) ?? Buffer.alloc(0);
  await send({ body: REPORTED });
  await send(protobuf(request));
  await grpcCall(collector.grpcAddress!, { path: METHOD, body: framed(request) });
  expect(sink.attempts).toEqual([]);
  expect(lines.filter((line) => line.includes('stores no metrics'))).toHaveLength(1);
});

it('an empty request gets a full success, and one that cannot be read is refused', async () => {
  expect(await send({ body: {} })).toMatchObject({ status: 200, body: '{}' });
  expect(await send(protobuf(Buffer.alloc(0)))).toMatchObject({ status: 200, body: '' });
  expect(await send({ body: Buffer.from('[') })).toMatchObject({ status: 400 });
  expect(await send(protobuf(Buffer.from([0x0a, 0x7f])))).toMatchObject({ status: 400 });
});

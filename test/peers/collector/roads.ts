import { randomUUID } from 'node:crypto';
import type { ServeAddresses } from '../../support/processes/serve-process.ts';

/**
 * Roads of spans from a Collector to us, named as its exporters: the last three are its ClickHouse exporter, writing to our own
 * tables, and to tables that it made, with attributes in maps or in JSON.
 */
export const ROADS = [
  'otlp_http',
  'otlp_grpc',
  'kafka',
  'clickhouse',
  'clickhouse/map',
  'clickhouse/json',
] as const;
export type Road = (typeof ROADS)[number];

/** The database with the tables that the exporter made; undefined where the rows are in ours. */
export function foreignDatabase(road: Road): string | undefined {
  return /^clickhouse\/\w+$/.test(road) ? `otel_${road.slice('clickhouse/'.length)}` : undefined;
}

export interface Kafka {
  readonly brokers: readonly string[];
  /** Of traces, and of logs; none without a broker. */
  readonly topics: readonly string[];
}

/** Each road has a tenant of its own, so that pieces of one run are not looked for on the others. */
export const TOKENS = (['otlp_http', 'otlp_grpc'] as const).map((road) => ({
  name: road,
  token: `${road}-${randomUUID()}`,
  tenant: road,
}));

function bearer(road: Road): Record<string, string> {
  return { authorization: `Bearer ${TOKENS.find(({ name }) => name === road)?.token}` };
}

function buildExporter(road: Road, serve: ServeAddresses, kafka: Kafka): Record<string, unknown> {
  const [traces, logs] = kafka.topics;
  const { url: endpoint, username, password, database } = serve.clickhouse;
  // Log records of one time have no order but that of their inserts: several senders may swap two batches, and the messages with them.
  const inOrder = { sending_queue: { num_consumers: 1 } };
  const clickhouse = { ...inOrder, endpoint, username, password, compress: 'none' };
  // Each is asked for alone: a serve that reads tables receives nothing itself.
  const exporters: Record<Road, () => Record<string, unknown>> = {
    otlp_http: () => ({ ...inOrder, endpoint: serve.otlpHttp, headers: bearer('otlp_http') }),
    otlp_grpc: () => ({
      ...inOrder,
      endpoint: serve.otlpGrpc.replace(/^\w+:\/\//, ''),
      tls: { insecure: true },
      headers: bearer('otlp_grpc'),
    }),
    kafka: () => ({ ...inOrder, brokers: kafka.brokers, traces: { topic: traces }, logs: { topic: logs } }),
    clickhouse: () => ({ ...clickhouse, database, create_schema: false }),
    'clickhouse/map': () => ({ ...clickhouse, database: foreignDatabase(road) }),
    'clickhouse/json': () => ({ ...clickhouse, database: foreignDatabase(road), json: true }),
  };
  return exporters[road]();
}

/** A Collector with a receiver of its own, on `ports`, for each road. */
export function collectorConfig(
  roads: readonly Road[],
  ports: readonly number[],
  serve: ServeAddresses,
  kafka: Kafka,
): Record<string, unknown> {
  const receiver = (road: Road): string => `otlp/${road.replace('/', '_')}`;
  const receivers = roads.map((road, index) => [
    receiver(road),
    { protocols: { http: { endpoint: `127.0.0.1:${ports[index]}` } } },
  ]);
  const pipelines = roads.flatMap((road) =>
    ['traces', 'logs'].map((signal) => [
      `${signal}/${road.replace('/', '_')}`,
      { receivers: [receiver(road)], processors: ['batch'], exporters: [road] },
    ]),
  );
  return {
    receivers: Object.fromEntries(receivers),
    processors: { batch: { timeout: '100ms', send_batch_size: 200 } },
    exporters: Object.fromEntries(roads.map((road) => [road, buildExporter(road, serve, kafka)])),
    service: { telemetry: { metrics: { level: 'none' } }, pipelines: Object.fromEntries(pipelines) },
  };
}

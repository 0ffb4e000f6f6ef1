import { randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { describe, expect, it, vi } from 'vitest';
import { framed, grpcCall, LOGS_METHOD, TRACES_METHOD } from '../../support/collector/grpc-call.ts';
import { forwardersOfTests } from '../../support/collector/forwarders.ts';
import { kafkaMissing } from '../../support/collector/kafka.ts';
import { post, protobuf } from '../../support/collector/otlp-post.ts';
import { type Json, requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import {
  attribute,
  jsonLog,
  jsonSpan,
  logRequest,
  traceRequest,
} from '../../support/builders/otlp-requests.ts';
import type { RecordingSink } from '../../support/fakes/recording-sink.ts';
import { sendTraces } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';
import { testCollector } from '../../support/collector/test-collector.ts';

// Each waits several times for a broker and for processes, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const missing = await kafkaMissing();
const TOKEN = 'the-token-of-team-a';

const its = forwardersOfTests(missing);

function buildAddress(url: string) {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** Two resources, spans of several traces among each other, one of them large. */
function someTraces(traceIds: readonly string[]): Json {
  const spans = traceIds.flatMap((traceId, index) => [
    jsonSpan({ traceId, name: `first ${index}` }),
    jsonSpan({ traceId, attributes: [attribute('gen_ai.prompt', 'ü'.repeat(index * 1_000))] }),
  ]);
  const halves = [spans.filter((_, index) => index % 2 === 0), spans.filter((_, index) => index % 2 === 1)];
  const groups = halves.flatMap((half, index) => traceRequest(half, `service-${index}`)['resourceSpans']);
  return { resourceSpans: groups };
}

const traceIds = (count: number) => Array.from({ length: count }, () => randomUUID().replaceAll('-', ''));
const readText = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
const listRows = (sink: RecordingSink) =>
  [...sink.rows('otel_traces'), ...sink.rows('otel_logs')].map((row) => JSON.stringify(row, readText)).sort();

describe.skipIf(missing !== undefined)('a serve that forwards to Kafka', () => {
  it('lets whoever reads the topics store the same rows as if they had been sent there', async () => {
    const topics = { topic: await its.world.topic(3), logTopic: await its.world.topic() };
    const tokens = [{ name: 'a', token: TOKEN, tenant: 'a', scopes: ['ingest'] }];
    const { addresses } = await its.start(topics, { auth: { tokens } });
    const authenticate = () => ({ tenant: 'a' });
    const grpcAny = { host: '127.0.0.1', port: 0 };
    const direct = await testCollector({ authenticate, grpc: grpcAny });
    its.atEnd(() => direct.collector.stop());

    const [proto, json, grpc] = [traceIds(20), traceIds(20), traceIds(20)] as [string[], string[], string[]];
    const [protoBody, grpcBody] = [requestBytes(someTraces(proto)), requestBytes(someTraces(grpc))];
    const jsonBody = someTraces(json);
    const logs = logRequest(proto.map((traceId) => jsonLog({ traceId })));
    const headers = { authorization: `Bearer ${TOKEN}` };
    const roads = [
      { http: buildAddress(addresses.otlpHttp), grpc: buildAddress(addresses.otlpGrpc) },
      { http: direct.collector.address, grpc: direct.collector.grpcAddress ?? grpcAny },
    ];
    for (const road of roads) {
      const answers = [
        await post(road.http, protobuf(protoBody, headers)),
        await post(road.http, { body: jsonBody, headers }),
        await post(road.http, { path: '/v1/logs', body: logs, headers }),
      ];
      expect(answers.map(({ status, body }) => [status, body])).toEqual([
        [200, ''],
        [200, '{}'],
        [200, '{}'],
      ]);
      const calls = [
        await grpcCall(road.grpc, { path: TRACES_METHOD, headers, body: framed(grpcBody) }),
        await grpcCall(road.grpc, { path: LOGS_METHOD, headers, body: framed(requestBytes(logs)) }),
      ];
      expect(calls.map(({ status }) => status)).toEqual([0, 0]);
    }

    const { collector, sink, letters } = await its.world.collect([topics.topic, topics.logTopic], {
      trustsTenants: true,
    });
    its.atEnd(() => collector.stop());
    const wanted = listRows(direct.sink);
    expect(wanted).toHaveLength(160);
    await until(() => listRows(sink).length >= wanted.length, 120_000);
    expect(listRows(sink)).toEqual(wanted);
    expect(letters.letters).toEqual([]);

    const records = await readTopic(topics.topic);
    expect(records).toHaveLength(60);
    const ids = [...proto, ...json, ...grpc];
    expect(records.map(({ key }) => key).sort()).toEqual(ids.sort());
  });

  it('keeps the records of a trace on one partition', async () => {
    const topics = { topic: await its.world.topic(6), logTopic: await its.world.topic() };
    const { addresses } = await its.start(topics);
    const ids = traceIds(30);
    for (let round = 0; round < 3; round++) {
      expect(await sendTraces(addresses.otlpHttp, someTraces(ids))).toBe(200);
    }
    const records = await readTopic(topics.topic, 90);
    const partitions = new Map<string, Set<number>>();
    for (const { key, partition } of records) {
      partitions.set(key, (partitions.get(key) ?? new Set()).add(partition));
    }
    expect(partitions.size).toBe(30);
    expect([...partitions.values()].filter(({ size }) => size !== 1)).toEqual([]);
    expect(new Set(records.map(({ partition }) => partition)).size).toBeGreaterThan(3);
  });

  it('opens no store, says so, and is ready when the topics exist', async () => {
    const topics = { topic: await its.world.topic(), logTopic: await its.world.topic() };
    const { folder, addresses } = await its.start(topics);
    expect(addresses.clickhouse).toBeNull();
    // The addresses are in a file before the lines have come through the pipe.
    const told = `none: sends requests to Kafka, topics ${topics.topic} and ${topics.logTopic}`;
    await until(() => folder.output.includes(told));
    // What is ready has two seconds to say so, which a busy machine may miss.
    const readiness = async () => {
      const ready = await fetch(`${addresses.api}/readyz`);
      return [ready.status, await ready.json()];
    };
    await expect
      .poll(readiness, { timeout: 60_000 })
      .toEqual([200, { status: 'ready', checks: { receivers: { ok: true }, forward: { ok: true } } }]);
    const metrics = await (await fetch(`${addresses.api}/metrics`)).text();
    expect(metrics).not.toContain('spanscore_engine_up');

    const away = await its.start({ topic: `absent-${randomUUID()}`, logTopic: topics.logTopic });
    const notReady = await fetch(`${away.addresses.api}/readyz`);
    expect(notReady.status).toBe(503);
    expect(await sendTraces(away.addresses.otlpHttp, someTraces(traceIds(1)))).toBe(503);
    expect(await away.folder.stop()).toBe(0);
  });
});

/** Reads a topic from its beginning until so many records have come. */
async function readTopic(topic: string, count = 60): Promise<{ key: string; partition: number }[]> {
  const kafka = new Kafka({ brokers: [...its.broker.brokers], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `reader-${randomUUID()}`, maxWaitTimeInMs: 200 });
  const records: { key: string; partition: number }[] = [];
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        records.push({ key: message.key?.toString() ?? '', partition });
      },
    });
    await until(() => records.length >= count, 120_000);
  } finally {
    await consumer.disconnect();
  }
  return records;
}

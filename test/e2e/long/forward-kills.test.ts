import { describe, expect, it, vi } from 'vitest';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { forwardersOfTests } from '../../support/collector/forwarders.ts';
import { hasOwnBroker, kafkaMissing } from '../../support/collector/kafka.ts';
import { KafkaWorld } from '../../support/collector/kafka-world.ts';
import { sendTraces } from '../../support/processes/serve-process.ts';
import { until } from '../../support/until.ts';

// Each waits several times for a broker and for processes, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 900_000 });

const missing = await kafkaMissing();
const isOurBroker = hasOwnBroker(missing, 'forwarding while the broker is away');
const KILLS = 4;
const its = forwardersOfTests(missing);

describe.skipIf(missing !== undefined)('a serve that forwards to Kafka', () => {
  it('loses nothing that it acknowledged, over kills while it is under load', async () => {
    const topics = { topic: await its.world.topic(3), logTopic: await its.world.topic() };
    const { folder, addresses } = await its.start(topics);
    const acknowledged = new Set<string>();
    let otlpHttp = addresses.otlpHttp;
    for (let round = 0; round < KILLS; round++) {
      const stopping = new AbortController();
      const before = acknowledged.size;
      const senders = Array.from({ length: 4 }, async () => {
        while (!stopping.signal.aborted) {
          const trace = anAgentTrace();
          if ((await sendTraces(otlpHttp, trace.request())) === 200) {
            acknowledged.add(trace.traceId);
          }
        }
      });
      await until(() => acknowledged.size >= before + 40, 120_000);
      await folder.killGroup();
      stopping.abort();
      await Promise.all(senders);
      otlpHttp = (await folder.start()).otlpHttp;
    }

    const { collector, sink } = await its.world.collect([topics.topic]);
    its.atEnd(() => collector.stop());
    const listSpans = () => {
      const spans = new Map<unknown, Set<unknown>>();
      for (const { TraceId, SpanId } of sink.rows()) {
        spans.set(TraceId, (spans.get(TraceId) ?? new Set()).add(SpanId));
      }
      return spans;
    };
    await until(() => [...acknowledged].every((id) => listSpans().get(id)?.size === 4), 120_000);
    expect(acknowledged.size).toBeGreaterThanOrEqual(KILLS * 40);
  });

  it.skipIf(!isOurBroker)(
    'tells senders to come again while the broker is away, and loses nothing that it acknowledged',
    async () => {
      const topics = { topic: await its.world.topic(3), logTopic: await its.world.topic() };
      const { addresses } = await its.start(topics);
      const acknowledged = new Set<string>();
      const statuses = new Map<number | string, number>();
      const stopping = new AbortController();
      const senders = Array.from({ length: 4 }, async () => {
        while (!stopping.signal.aborted) {
          const trace = anAgentTrace();
          const status = await sendTraces(addresses.otlpHttp, trace.request());
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status === 200) {
            acknowledged.add(trace.traceId);
          }
        }
      });
      await until(() => acknowledged.size >= 50, 120_000);
      await its.broker.kill();
      await until(() => (statuses.get(503) ?? 0) >= 4, 120_000);
      await its.broker.restart();
      const before = acknowledged.size;
      await until(() => acknowledged.size >= before + 50, 120_000);
      stopping.abort();
      await Promise.all(senders);
      expect(new Set(statuses.keys())).toEqual(new Set([200, 503]));

      await its.world.close();
      its.world = await KafkaWorld.open(its.broker);
      const { collector, sink } = await its.world.collect([topics.topic]);
      its.atEnd(() => collector.stop());
      await until(() => {
        const stored = new Set(sink.rows().map((row) => row['TraceId']));
        return [...acknowledged].every((id) => stored.has(id));
      }, 120_000);
    },
  );
});

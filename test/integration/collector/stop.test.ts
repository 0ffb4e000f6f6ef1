import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { jsonSpan, traceRequest } from '../../support/builders/otlp-requests.ts';
import { post } from '../../support/collector/otlp-post.ts';
import { testCollector } from '../../support/collector/test-collector.ts';
import { until } from '../../support/until.ts';

describe('a stop', () => {
  it('under load loses nothing that was acknowledged and answers all that was begun', async () => {
    const { collector, sink } = await testCollector({ limits: { batchAgeMs: 20 } });
    sink.before = () => sleep(30);
    const acknowledged: unknown[] = [];
    let begun = 0;
    const stopping = new AbortController();
    const sender = async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        const span = jsonSpan();
        begun++;
        const answer = await post(collector.address, { body: traceRequest([span]) }).catch(() => undefined);
        if (answer?.status === 200) {
          acknowledged.push(span['spanId']);
        }
      }
    };
    const senders = Array.from({ length: 20 }, sender);
    await until(() => acknowledged.length > 50);
    await collector.stop();
    stopping.abort();
    await Promise.all(senders);
    const stored = new Set(sink.rows().map((row) => row['SpanId']));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(begun).toBeGreaterThan(50);
    expect(collector.stats()).toMatchObject({ heldBytes: 0, pendingRowBytes: 0, insertsRunning: 0 });
  });

  it('does not wait for connections that send nothing, and may be asked for twice', async () => {
    const { collector } = await testCollector({ limits: { stopGraceMs: 600_000 } });
    const idle = connect(collector.address.port, collector.address.host);
    idle.on('error', () => undefined);
    await new Promise((resolve) => idle.once('connect', resolve));
    await Promise.all([collector.stop(), collector.stop()]);
    await until(() => idle.destroyed || idle.readableEnded);
    idle.destroy();
    await expect(post(collector.address, {})).rejects.toThrow(/ECONNREFUSED/);
  });
});

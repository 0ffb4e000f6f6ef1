import { describe, expect, it } from 'vitest';
import { collectorChecks, collectorReadings, type CollectorStats } from '../../../collector/collector.ts';
import { describeReader, type KafkaStatus } from '../../../collector/receivers/kafka/kafka-receiver.ts';
import { createMemoryLimiter } from '../../../collector/memory-limiter.ts';

function stats(overrides: Partial<CollectorStats> = {}): CollectorStats {
  return {
    heldBytes: 5,
    pendingRowBytes: 6,
    insertsRunning: 1,
    oldestRequestMs: 1_500,
    notListening: [],
    ...overrides,
  };
}

function kafka(overrides: Partial<KafkaStatus> = {}): KafkaStatus {
  return { connected: true, lastHeartbeatMs: 0, lags: new Map(), fault: null, ...overrides };
}

/** A collector in this state, with a reader of Kafka where its status is given. */
function collector(given: CollectorStats, status?: KafkaStatus, nowMs = 0) {
  const reader =
    status === undefined
      ? undefined
      : describeReader({ status: () => status, stop: () => Promise.resolve() }, () => nowMs);
  return {
    stats: () => given,
    checkInserts: () => Promise.resolve(),
    checks: reader?.checks ?? [],
    readings: () => reader?.readings?.() ?? [],
  };
}

describe('the metrics of a collector', () => {
  it('report the held bytes, and the lag of Kafka by partition', () => {
    expect(collectorReadings(collector(stats(), kafka({ lags: new Map([['spans/0', 7]]) })))).toEqual([
      { name: 'spanscore.receiver.held', value: 5 },
      { name: 'spanscore.receiver.oldest_request.age', value: 1.5 },
      { name: 'spanscore.insert.pending', value: 6 },
      { name: 'spanscore.insert.running', value: 1 },
      { name: 'spanscore.kafka.connected', value: 1 },
      { name: 'spanscore.kafka.lag', value: 7, labels: { partition: 'spans/0' } },
    ]);
  });
});

describe('the age of the oldest request', () => {
  it('is that of the first request that still holds bytes', () => {
    let nowMs = 100;
    const limiter = createMemoryLimiter(1_000, 1_000, () => nowMs);
    const [first, second] = [limiter.lease(), limiter.lease()];
    expect(limiter.oldestMs()).toBe(0);
    first.hold(1);
    nowMs = 130;
    second.hold(1);
    nowMs = 150;
    expect(limiter.oldestMs()).toBe(50);
    first.release();
    expect(limiter.oldestMs()).toBe(20);
    second.release();
    expect(limiter.oldestMs()).toBe(0);
  });
});

describe('the readiness of a collector', () => {
  const faults = async (given: CollectorStats, status?: KafkaStatus, nowMs?: number) => {
    const outcomes = collectorChecks(collector(given, status, nowMs)).map((entry) =>
      entry.check().then(
        () => [entry.name, 'ok'],
        (error: Error) => [entry.name, error.message],
      ),
    );
    return Object.fromEntries(await Promise.all(outcomes)) as Record<string, string>;
  };

  it('holds while all listen and the consumer is in its group', async () => {
    expect(await faults(stats())).toEqual({ receivers: 'ok', inserts: 'ok' });
    expect(await faults(stats(), kafka())).toEqual({ receivers: 'ok', inserts: 'ok', kafka: 'ok' });
  });

  it('names the receivers that do not listen', async () => {
    expect(await faults(stats({ notListening: ['otlp-grpc'] }))).toEqual({
      receivers: 'not listening: otlp-grpc',
      inserts: 'ok',
    });
  });

  it.each([
    [kafka({ connected: false }), 'not in its consumer group: it is joining'],
    [
      kafka({ connected: false, fault: 'nothing listens at this address' }),
      'not in its consumer group: nothing listens at this address',
    ],
    [kafka({ lastHeartbeatMs: 0 }), 'no heartbeat of the consumer group for 61 s'],
  ])('says why Kafka is not read', async (given, reason) => {
    expect(await faults(stats(), given, 61_000)).toEqual({ receivers: 'ok', inserts: 'ok', kafka: reason });
  });
});

import { AppError } from '../../../src/domain/errors.ts';
import type { Reading } from '../../../src/telemetry/metrics.ts';
import type { Receiver } from '../receiver.ts';
import type { KafkaReceiver, KafkaStatus } from './kafka-receiver.ts';

/** Time without a heartbeat after which the group has given the partitions of this member to others. */
const MAX_SILENCE_MS = 60_000;

/** A reader as a receiver of its collector: with its readiness check and its metrics. */
export function describeReader(reader: KafkaReceiver, nowMs: () => number = Date.now): Receiver {
  return {
    isListening: () => true,
    checks: [{ name: 'kafka', check: () => rejectFault(findFault(reader.status(), nowMs())) }],
    readings: () => listReadings(reader.status()),
    stop: () => reader.stop(),
  };
}

function findFault({ connected, fault, lastHeartbeatMs }: KafkaStatus, nowMs: number): string | undefined {
  if (!connected) {
    return `not in its consumer group: ${fault ?? 'it is joining'}`;
  }
  const silenceMs = nowMs - (lastHeartbeatMs ?? nowMs);
  return silenceMs > MAX_SILENCE_MS
    ? `no heartbeat of the consumer group for ${Math.round(silenceMs / 1_000)} s`
    : undefined;
}

function rejectFault(fault: string | undefined): Promise<void> {
  return fault === undefined
    ? Promise.resolve()
    : Promise.reject(new AppError(fault, { code: 'overloaded', stage: 'receive', retryable: true }));
}

function listReadings({ connected, lags }: KafkaStatus): Reading[] {
  return [
    { name: 'spanscore.kafka.connected', value: Number(connected) },
    ...[...lags].map(
      ([partition, value]) => ({ name: 'spanscore.kafka.lag', value, labels: { partition } }) as const,
    ),
  ];
}

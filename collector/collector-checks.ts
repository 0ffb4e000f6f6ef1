import { AppError } from '../src/domain/errors.ts';
import type { ReadinessCheck } from '../src/domain/readiness-check.ts';
import type { Collector, CollectorStats } from './collector.ts';

/** Time without a heartbeat after which the group has given the partitions of this member to others. */
const MAX_SILENCE_MS = 60_000;

/** Creates the readiness checks of a collector: its receivers listen, the store takes inserts, and its consumer is in its group. */
export function collectorChecks(
  { stats, checkInserts }: Pick<Collector, 'stats' | 'checkInserts'>,
  nowMs: () => number = Date.now,
): readonly ReadinessCheck[] {
  const receivers: ReadinessCheck = {
    name: 'receivers',
    check: () => verdict(listenFault(stats())),
  };
  const inserts: ReadinessCheck = { name: 'inserts', check: checkInserts };
  const kafka: ReadinessCheck = {
    name: 'kafka',
    check: () => verdict(kafkaFault(stats(), nowMs())),
  };
  return stats().kafka === undefined ? [receivers, inserts] : [receivers, inserts, kafka];
}

function listenFault({ notListening }: CollectorStats): string | undefined {
  return notListening.length === 0 ? undefined : `not listening: ${notListening.join(', ')}`;
}

function kafkaFault({ kafka }: CollectorStats, nowMs: number): string | undefined {
  if (kafka === undefined) {
    return undefined;
  }
  if (!kafka.connected) {
    return `not in its consumer group: ${kafka.fault ?? 'it is joining'}`;
  }
  const silenceMs = nowMs - (kafka.lastHeartbeatMs ?? nowMs);
  return silenceMs > MAX_SILENCE_MS
    ? `no heartbeat of the consumer group for ${Math.round(silenceMs / 1_000)} s`
    : undefined;
}

function verdict(fault: string | undefined): Promise<void> {
  return fault === undefined
    ? Promise.resolve()
    : Promise.reject(new AppError(fault, { code: 'overloaded', stage: 'receive', retryable: true }));
}

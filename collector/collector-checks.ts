import { AppError } from '../src/domain/errors.ts';
import type { ReadinessCheck } from '../src/domain/readiness-check.ts';
import type { Collector } from './collector.ts';

/** Readiness checks of a collector: its receivers listen, the store takes inserts, and what each receiver checks itself. */
export function collectorChecks({
  stats,
  checkInserts,
  checks,
}: Pick<Collector, 'stats' | 'checkInserts' | 'checks'>): ReadinessCheck[] {
  const receivers: ReadinessCheck = {
    name: 'receivers',
    check: async () => {
      const { notListening } = stats();
      if (notListening.length > 0) {
        throw new AppError(`not listening: ${notListening.join(', ')}`, {
          code: 'overloaded',
          stage: 'receive',
          retryable: true,
        });
      }
    },
  };
  return [receivers, { name: 'inserts', check: checkInserts }, ...checks];
}

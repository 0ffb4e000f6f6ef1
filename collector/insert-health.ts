import { AppError, readErrorMessage } from '../src/domain/errors.ts';
import type { SpanSink } from '../src/store/contracts/span-sink.ts';

/** Time between two probes of a store that refused the last insert, milliseconds. */
const PROBE_EVERY_MS = 5_000;
const MIB = 1024 * 1024;

/** Health of the inserts of a collector, for readiness. */
export interface InsertHealth {
  recordSuccess(): void;
  recordFailure(failure: AppError): void;
  /** Resolves while the store takes inserts; rejects with the reason and the free space while it refuses them. */
  check(): Promise<void>;
}

/**
 * Creates the health of inserts. A failed insert makes it unhealthy, and a successful one makes it healthy again. While it
 * is unhealthy, a check probes the store, at most every 5 s: senders may send nothing to a collector that is not ready.
 */
export function createInsertHealth(
  sink: Pick<SpanSink, 'probe' | 'readFreeBytes'>,
  nowMs: () => number = Date.now,
): InsertHealth {
  let refusal: { readonly sinceMs: number; readonly reason: string; readonly triedMs: number } | null = null;
  const recordSuccess = (): void => {
    refusal = null;
  };
  const recordFailure = (failure: unknown): void => {
    const now = nowMs();
    refusal = { sinceMs: refusal?.sinceMs ?? now, reason: readErrorMessage(failure), triedMs: now };
  };
  return {
    recordSuccess,
    recordFailure: (failure) => {
      // Only a retryable failure says that the next row would fail too.
      if (failure.retryable) {
        recordFailure(failure);
      }
    },
    async check() {
      if (refusal !== null && nowMs() - refusal.triedMs >= PROBE_EVERY_MS) {
        await sink.probe().then(recordSuccess, recordFailure);
      }
      if (refusal === null) {
        return;
      }
      const { sinceMs, reason } = refusal;
      const free = await sink.readFreeBytes().catch(() => null);
      const space = free === null ? '' : `; ${Math.floor(free / MIB)} MiB are free on its disks`;
      const since = new Date(sinceMs).toISOString();
      throw new AppError(`the store refuses inserts since ${since}: ${reason}${space}`, {
        code: 'overloaded',
        stage: 'store',
        retryable: true,
      });
    },
  };
}

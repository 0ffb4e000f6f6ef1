import { DEFAULT_ROW_LIMITS, type RowLimits } from './otlp/row-limits.ts';
import { MIB } from '../src/domain/byte-sizes.ts';
import type { ConnectionLimits } from '../src/domain/connection-places.ts';

/** All limits of a collector: bytes, milliseconds, counts. */
export interface CollectorLimits extends RowLimits {
  /** Largest request body, as sent and after decompression; a larger one is answered with 413. OTLP recommends 64 MiB. */
  readonly maxBodyBytes: number;
  /**
   * Bytes of requests, of rows and for reading JSON, at any moment over all requests. Above it senders get 429. JSON that
   * needs more alone is answered with 413.
   */
  readonly maxInFlightBytes: number;
  /** Limit of open connections of a receiver; half of them may have one address. */
  readonly maxConnections: number;
  /** Time limits for the headers of a request, and for the whole request, milliseconds. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Time that an idle keep-alive connection stays open, milliseconds. */
  readonly keepAliveTimeoutMs: number;
  /** Interval of the checks of both request timeouts, milliseconds. */
  readonly timeoutCheckMs: number;
  /** An insert starts when it has this many rows or bytes, or when its first request has waited this long. */
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly batchAgeMs: number;
  /** Limit of inserts at the same time. */
  readonly maxInserts: number;
  /** Number of retries of a failed insert, and the time for them after the first attempt, before its senders get 503. */
  readonly insertRetries: number;
  readonly patienceMs: number;
  /** Time in milliseconds after which senders over HTTP and gRPC get 503 when the store hangs; longer than `patienceMs`. */
  readonly answerWithinMs: number;
  /** Limit of inserts to find the rows of a batch that the store refuses. */
  readonly maxBisectInserts: number;
  /** Limit of rows set aside while the store takes no row at all. Above it the fault is in the store, not in the rows. */
  readonly maxUnprovenRows: number;
  /** Wait of the oldest rows above which further requests get 429, milliseconds. */
  readonly maxQueueMs: number;
  /** `Retry-After` of a 429 or 503, unless the store gave another time. */
  readonly retryAfterMs: number;
  /** Time that a stop waits for requests under way, milliseconds. */
  readonly stopGraceMs: number;
}

/** Returns the limits of the connections of one receiver. Its port has no probes. */
export function connectionLimits({ maxConnections }: CollectorLimits): ConnectionLimits {
  return { total: maxConnections, perAddress: Math.ceil(maxConnections / 2), kept: 0 };
}

export const DEFAULT_COLLECTOR_LIMITS: CollectorLimits = {
  ...DEFAULT_ROW_LIMITS,
  maxBodyBytes: 64 * MIB,
  maxInFlightBytes: 256 * MIB,
  maxConnections: 2_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 60_000,
  timeoutCheckMs: 1_000,
  batchRows: 20_000,
  batchBytes: 32 * MIB,
  batchAgeMs: 100,
  maxInserts: 2,
  insertRetries: 4,
  // Exporters of the OpenTelemetry SDKs give up after 10 s.
  patienceMs: 7_000,
  answerWithinMs: 9_000,
  maxBisectInserts: 128,
  maxUnprovenRows: 16,
  maxQueueMs: 5_000,
  retryAfterMs: 1_000,
  // This leaves time for the parts that stop later, within the 30 s that supervisors give.
  stopGraceMs: 12_000,
};

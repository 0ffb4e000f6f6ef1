import { DEFAULT_ROW_LIMITS, type RowLimits } from './otlp/row-limits.ts';

const MIB = 1024 * 1024;

/** Every bound of a collector. Bytes, milliseconds, counts. */
export interface CollectorLimits extends RowLimits {
  /** Largest request body, as sent and after decompression; more is answered 413. OTLP recommends 64 MiB. */
  readonly maxBodyBytes: number;
  /**
   * Request and row bytes, and what it takes to read JSON, held at any moment over all requests; above it senders get 429. JSON
   * that alone takes more is answered 413.
   */
  readonly maxInFlightBytes: number;
  /** Open connections; further ones are closed at once. */
  readonly maxConnections: number;
  /** Time for a request's headers, and for the whole request, milliseconds. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** Time that an idle kept-alive connection stays open, milliseconds. */
  readonly keepAliveTimeoutMs: number;
  /** Interval of the checks of both request timeouts, milliseconds. */
  readonly timeoutCheckMs: number;
  /** An insert is sent when it has this many rows or bytes, or when its first request has waited this long. */
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly batchAgeMs: number;
  /** Inserts under way at once. */
  readonly maxInserts: number;
  /**
   * Number of retries of a failed insert, and the time after the first attempt in which they are made, before its senders get
   * 503.
   */
  readonly insertRetries: number;
  readonly patienceMs: number;
  /** Time after which senders over HTTP and gRPC get 503 from a store that hangs, milliseconds; above `patienceMs`. */
  readonly answerWithinMs: number;
  /** Inserts made at most to find the rows of a batch that the store refuses. */
  readonly maxBisectInserts: number;
  /** Rows set aside at most without the store having taken any other: beyond, the store is thought wrong, not the rows. */
  readonly maxUnprovenRows: number;
  /** Wait of the oldest rows after which further requests get 429, milliseconds. */
  readonly maxQueueMs: number;
  /** `Retry-After` of a 429 or 503, unless the store gave another time. */
  readonly retryAfterMs: number;
  /** Time that a stop waits for requests under way, milliseconds. */
  readonly stopGraceMs: number;
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
  // With what is stopped after it, within the 30 s that supervisors give.
  stopGraceMs: 12_000,
};

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
  /** How long a sender may take for the headers, and for the whole request. */
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** How long an idle kept-alive connection stays open. */
  readonly keepAliveTimeoutMs: number;
  /** How often the two request timeouts are looked after. */
  readonly timeoutCheckMs: number;
  /** An insert is sent when it has this many rows or bytes, or when its first request has waited this long. */
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly batchAgeMs: number;
  /** Inserts under way at once. */
  readonly maxInserts: number;
  /** How often, and until when after the first attempt, an insert that failed is tried again before its senders get 503. */
  readonly insertRetries: number;
  readonly patienceMs: number;
  /** When a store that hangs is told to the senders over HTTP and gRPC, with 503; above `patienceMs`. */
  readonly answerWithinMs: number;
  /** Inserts made at most to find the rows of a batch that the store refuses. */
  readonly maxBisectInserts: number;
  /** Rows set aside at most without the store having taken any other: beyond, the store is thought wrong, not the rows. */
  readonly maxUnprovenRows: number;
  /** When the rows that wait for an insert have waited this long, further requests get 429. */
  readonly maxQueueMs: number;
  /** What `Retry-After` says in a 429 or 503, unless the store said something else. */
  readonly retryAfterMs: number;
  /** How long a stop waits for requests under way. */
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

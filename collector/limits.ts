import { MIB } from '../src/domain/byte-sizes.ts';
import type { ConnectionLimits } from '../src/domain/connection-places.ts';
import type { AgentSignals } from '../src/domain/trace/agent-signals.ts';

/**
 * Limits of a row, and of the rows of a request. Parts above the limits of a row are cut and named in its `Truncated`; only
 * `maxRowBytes` rejects the row.
 */
export interface RowLimits {
  /** Longest text (attribute value, name, message), in bytes of UTF-8; at least 32, so that no number is cut. */
  readonly maxTextBytes: number;
  /** Limit of attributes of a span, a resource, an event, a link or a log record. */
  readonly maxAttributes: number;
  /** Limit of events and limit of links of a span. */
  readonly maxEvents: number;
  readonly maxLinks: number;
  /** Largest row and largest record, with the texts as sent. A larger one is rejected and reported to its sender. */
  readonly maxRowBytes: number;
  /** Limit of spans or log records of a request, counted with their resources and scopes. */
  readonly maxRecords: number;
}

export const DEFAULT_ROW_LIMITS: RowLimits = {
  // A conversation of a million tokens; half of a row.
  maxTextBytes: 4 * MIB,
  maxAttributes: 10_000,
  maxEvents: 10_000,
  maxLinks: 10_000,
  maxRowBytes: 8 * MIB,
  maxRecords: 100_000,
};

/**
 * Spans to store whole: all, or only those that a rule can use. Of every other span, only its position in the tree is stored.
 */
export type Keep = 'all' | 'agent-spans';

/** Settings for decoding export requests into rows. */
export interface DecodeOptions {
  readonly limits: RowLimits;
  readonly keep: Keep;
  /** Signals of the spans and log records to keep. Default: the signals of every convention. */
  readonly signals?: AgentSignals | undefined;
}

export const DEFAULT_DECODE: DecodeOptions = { limits: DEFAULT_ROW_LIMITS, keep: 'all' };

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
  /** The same age while another insert runs, milliseconds. */
  readonly besideAgeMs: number;
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
  besideAgeMs: 500,
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

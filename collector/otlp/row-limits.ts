import type { AgentSignals } from '../../src/domain/trace/agent-signals.ts';
import { MIB } from '../../src/domain/byte-sizes.ts';

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
 * Spans to store whole: all, or only those that a rule can use. Of the others, only their position in the tree is stored.
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

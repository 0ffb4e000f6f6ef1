const MIB = 1024 * 1024;

/**
 * Bounds of a row, and of a request's rows. What is above those of a row is cut off and named in the row's `Truncated`; only
 * `maxRowBytes` refuses the row.
 */
export interface RowLimits {
  /** Longest text (an attribute's value, a name, a message), in bytes of UTF-8; at least 32, so that no number is cut. */
  readonly maxTextBytes: number;
  /** Most attributes of a span, a resource, an event, a link or a log record. */
  readonly maxAttributes: number;
  /** Most events and most links of a span. */
  readonly maxEvents: number;
  readonly maxLinks: number;
  /** Largest row and largest record, with the texts as they were sent; a larger one is left out and reported to its sender. */
  readonly maxRowBytes: number;
  /** Most spans or log records of a request, counted with the resources and scopes that group them. */
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

/** Spans to keep: everything, or of spans that no rule can use only their place in the tree. */
export type Keep = 'all' | 'agent-spans';

/** Settings that turn export requests into rows. */
export interface DecodeOptions {
  readonly limits: RowLimits;
  readonly keep: Keep;
}

export const DEFAULT_DECODE: DecodeOptions = { limits: DEFAULT_ROW_LIMITS, keep: 'all' };

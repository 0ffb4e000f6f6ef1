import { MIB } from '../domain/byte-sizes.ts';

/** Limits and waits of a desk. */
export interface DeskTerms {
  /** Most questions, and most bytes, of one batch. OpenAI takes 50,000 and 200 MB. */
  readonly maxRequests: number;
  readonly maxBytes: number;
  /** Time without a new question after which a batch is closed, milliseconds. */
  readonly quietMs: number;
  /** Shortest and longest wait between looks for replies, milliseconds. */
  readonly firstLookMs: number;
  readonly longestLookMs: number;
}

export const DEFAULT_TERMS: DeskTerms = {
  maxRequests: 10_000,
  maxBytes: 32 * MIB,
  quietMs: 3_000,
  firstLookMs: 500,
  longestLookMs: 10_000,
};

import { AppError } from '../../src/domain/errors.ts';
import { MAX_REJECT_REASONS } from '../../src/wire/otlp-json.ts';
import type { IngestTable } from '../../src/store/contracts/columns.ts';
import type { RowPiece } from './row-pieces.ts';

/** Result of decoding one export request. */
export interface DecodedRequest {
  readonly table: IngestTable;
  readonly pieces: readonly RowPiece[];
  /** Records that have a row in `pieces`. */
  readonly rows: number;
  /** Good records that are of no use here (logs that are not GenAI events): accepted, not stored. */
  readonly dropped: number;
  /** Spans of which only the place in the tree is in `pieces` (see `Keep`). */
  readonly stubs: number;
  /** Malformed records: reported to the sender as a partial success. */
  readonly rejected: number;
  /** Reasons with places; at most `MAX_REJECT_REASONS`. */
  readonly reasons: readonly string[];
}

/** Counts the records that are left out. */
export interface Rejections {
  count: number;
  readonly reasons: string[];
}

export function newRejections(): Rejections {
  return { count: 0, reasons: [] };
}

export function reject(rejections: Rejections, records: number, reason: () => string): void {
  rejections.count += records;
  if (rejections.reasons.length < MAX_REJECT_REASONS) {
    rejections.reasons.push(reason());
  }
}

export function tooManyRecords(maxRecords: number): AppError {
  return new AppError(
    `the request holds more than ${maxRecords} spans or log records (with their groups); send fewer per request`,
    { code: 'input_too_large', stage: 'receive', retryable: false },
  );
}

import { AppError } from '../../src/domain/errors.ts';
import { MAX_REJECT_REASONS } from '../../src/wire/otlp-json.ts';
import type { IngestTable } from '../../src/store/contracts/rows/columns.ts';
import type { RowPiece } from './row-pieces.ts';

/** Result of decoding one export request. */
export interface DecodedRequest {
  readonly table: IngestTable;
  readonly pieces: readonly RowPiece[];
  /** Number of records with a row in `pieces`. */
  readonly rows: number;
  /** Number of valid records without a use here (logs that are no GenAI events): accepted, not stored. */
  readonly dropped: number;
  /** Number of spans of which only the position in the tree is in `pieces` (see `Keep`). */
  readonly stubs: number;
  /** Number of malformed records: reported to the sender as a partial success. */
  readonly rejected: number;
  /** Reasons with places; at most `MAX_REJECT_REASONS`. */
  readonly reasons: readonly string[];
}

/** Counts rejected records. */
export interface Rejections {
  count: number;
  readonly reasons: string[];
}

export function createRejections(): Rejections {
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
    `the request has more than ${maxRecords} spans or log records (counted with their groups); send fewer per request`,
    { code: 'input_too_large', stage: 'receive', retryable: false },
  );
}

import { AppError, InvalidInputError } from '../../src/domain/errors.ts';
import { type IngestTable, RowWriter } from '../../src/store/contracts/rows.ts';
import type { PurgedTraces } from '../../src/store/contracts/purge.ts';
import { MAX_REJECT_REASONS } from '../../src/wire/otlp-json.ts';

/** Run of whole rows. An insert consists of pieces. */
export interface RowPiece {
  readonly rows: number;
  readonly bytes: Buffer;
  /** End of each row in `bytes`. */
  readonly ends: readonly number[];
}

/** Size at which a piece is closed, so that a huge request does not become a huge insert. */
export const PIECE_BYTES = 4 * 1024 * 1024;
/** Limit of the row bytes of one request (each row repeats its resource): limits memory and time. */
const MAX_EXPANDED_BYTES = 128 * 1024 * 1024;

/** Collects the rows of one request. */
export interface RowPieces {
  readonly writer: RowWriter;
  /** Number of complete rows. */
  readonly rows: number;
  /**
   * Completes the row written since the last call, with `cutBytes` of text cut off. Throws and drops the row when it is too
   * large.
   */
  endRow(cutBytes: number): void;
  /** Drops the bytes written since the last complete row. */
  abandonRow(): void;
  finish(): RowPiece[];
}

/** Creates an empty collection. `expectedBytes` sizes the first buffer: about the size of the request. */
export function collectRows(expectedBytes: number, maxRowBytes: number): RowPieces {
  const pieces: RowPiece[] = [];
  const writer = new RowWriter(Math.min(expectedBytes, PIECE_BYTES));
  let rowStart = 0;
  let ends: number[] = [];
  let totalRows = 0;
  let spentBytes = 0;

  function closePiece(): void {
    const bytes = writer.written();
    pieces.push({
      rows: ends.length,
      bytes: bytes.length * 2 < writer.bytes.length ? Buffer.from(bytes) : bytes,
      ends,
    });
    writer.renew();
    rowStart = 0;
    ends = [];
  }

  /** Counts dropped rows too, because writing them costs the same. */
  function spend(): number {
    const rowBytes = writer.length - rowStart;
    spentBytes += rowBytes;
    if (spentBytes > MAX_EXPANDED_BYTES) {
      throw tooLargeExpanded();
    }
    return rowBytes;
  }

  return {
    writer,
    get rows() {
      return totalRows;
    },
    endRow(cutBytes) {
      const sentBytes = spend() + cutBytes;
      if (sentBytes > maxRowBytes) {
        writer.length = rowStart;
        throw new InvalidInputError(
          `its row would have ${sentBytes} bytes, more than the ${maxRowBytes} allowed`,
        );
      }
      rowStart = writer.length;
      ends.push(rowStart);
      totalRows++;
      if (writer.length >= PIECE_BYTES) {
        closePiece();
      }
    },
    abandonRow() {
      spend();
      writer.length = rowStart;
    },
    finish() {
      if (ends.length > 0) {
        closePiece();
      }
      return pieces;
    },
  };
}

function tooLargeExpanded(): AppError {
  return new AppError(
    `the rows of the request have more than ${MAX_EXPANDED_BYTES} bytes, because every row repeats the resource attributes; send fewer spans per request`,
    { code: 'input_too_large', stage: 'receive', retryable: false },
  );
}

/** Start of the trace id in a row of either table: after the time comes the length of the id. */
const LENGTH_AT = 8;

/** Piece without the rows of purged traces, and their number. */
interface KeptPiece {
  readonly piece: RowPiece;
  readonly purged: number;
}

/** Drops the rows of purged traces from a piece. A piece without such rows stays as it is. */
export function dropPurgedRows(piece: RowPiece, tenant: string, traces: PurgedTraces): KeptPiece {
  if (traces.isEmpty) {
    return { piece, purged: 0 };
  }
  const kept: Buffer[] = [];
  const ends: number[] = [];
  let length = 0;
  let last = { traceId: '', isPurged: false };
  piece.ends.forEach((end, index) => {
    const start = index === 0 ? 0 : (piece.ends[index - 1] as number);
    const idAt = start + LENGTH_AT + 1;
    const traceId = piece.bytes.toString('latin1', idAt, idAt + (piece.bytes[idAt - 1] as number));
    // Spans of a trace mostly come together.
    last = last.traceId === traceId ? last : { traceId, isPurged: traces.has({ tenant, traceId }) };
    if (!last.isPurged) {
      kept.push(piece.bytes.subarray(start, end));
      length += end - start;
      ends.push(length);
    }
  });
  return ends.length === piece.rows
    ? { piece, purged: 0 }
    : { piece: { rows: ends.length, bytes: Buffer.concat(kept), ends }, purged: piece.rows - ends.length };
}

/** Rows from `from` up to but not including `to` of several pieces, numbered through. */
export interface RowRange {
  readonly pieces: readonly RowPiece[];
  readonly from: number;
  readonly to: number;
}

export function wholeRange(pieces: readonly RowPiece[]): RowRange {
  return { pieces, from: 0, to: pieces.reduce((sum, piece) => sum + piece.rows, 0) };
}

export function rowsIn({ from, to }: RowRange): number {
  return to - from;
}

/** Cuts a range at the borders of pieces: returns the index of each piece in it, and the bytes of its rows. */
export function listParts(
  range: RowRange,
): { readonly piece: number; readonly rows: number; readonly bytes: Buffer }[] {
  const parts: { piece: number; rows: number; bytes: Buffer }[] = [];
  let first = 0;
  for (const [index, piece] of range.pieces.entries()) {
    const from = Math.max(range.from - first, 0);
    const to = Math.min(range.to - first, piece.rows);
    if (from < to) {
      const start = from === 0 ? 0 : (piece.ends[from - 1] ?? 0);
      parts.push({ piece: index, rows: to - from, bytes: piece.bytes.subarray(start, piece.ends[to - 1]) });
    }
    first += piece.rows;
  }
  return parts;
}

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

/**
 * First time that is refused, Unix nanoseconds: 2262-04-11. A column of nanoseconds holds not quite that day whole, so times in it could not
 * be summed by the hour.
 */
const LIMIT = 9_223_286_400_000_000_000n;
const LIMIT_HIGH = Number(LIMIT >> 32n);

/** Refuses a time beyond the range of the store. `high` are the upper 32 bits of Unix nanoseconds. */
export function requireStorableHigh(high: number, name: string): void {
  if (high >= LIMIT_HIGH) {
    throw new InvalidInputError(
      `${name} lies after 2262-04-10: check the clock and the unit (Unix nanoseconds)`,
    );
  }
}

/** Refuses a time beyond the range of the store. */
export function requireStorableTime(unixNano: bigint, name: string): void {
  requireStorableHigh(Number(unixNano >> 32n), name);
}

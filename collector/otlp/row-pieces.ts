import { AppError, InvalidInputError } from '../../src/domain/errors.ts';
import { RowWriter } from '../../src/store/contracts/rows/row-binary.ts';

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

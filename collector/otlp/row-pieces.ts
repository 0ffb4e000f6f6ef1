import { AppError, InvalidInputError } from '../../src/domain/errors.ts';
import { RowWriter } from '../../src/store/contracts/row-binary.ts';

/** A run of whole rows: what one insert is made of. */
export interface RowPiece {
  readonly rows: number;
  readonly bytes: Buffer;
  /** End of each row in `bytes`. */
  readonly ends: readonly number[];
}

/** A piece is closed when it is this large, so that one huge request does not become one huge insert. */
export const PIECE_BYTES = 4 * 1024 * 1024;
/** Most row bytes that one request may become (its resource is repeated in every row): bounds memory and time. */
const MAX_EXPANDED_BYTES = 128 * 1024 * 1024;

/** Collects the rows of one request. */
export interface RowPieces {
  readonly writer: RowWriter;
  /** Rows completed so far. */
  readonly rows: number;
  /**
   * Completes the row that was written since the last call, off which `cutBytes` were cut; throws and forgets it when it is
   * too large.
   */
  endRow(cutBytes: number): void;
  /** Forgets what was written since the last completed row. */
  abandonRow(): void;
  finish(): RowPiece[];
}

/** `expectedBytes` sizes the first buffer: about the size of the request. */
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

  /** Abandoned rows count too: writing them costs as much. */
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
    `the request becomes more than ${MAX_EXPANDED_BYTES} bytes of rows, because its resource attributes are repeated in every row; send fewer spans per request`,
    { code: 'input_too_large', stage: 'receive', retryable: false },
  );
}

import type { RowPiece } from './otlp/row-pieces.ts';

/** Rows from `from` up to but not including `to` of several pieces, numbered through. */
export interface RowRange {
  readonly pieces: readonly RowPiece[];
  readonly from: number;
  readonly to: number;
}

/** Returns the range of all rows of these pieces. */
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

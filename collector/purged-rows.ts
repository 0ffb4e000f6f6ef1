import type { PurgedTraces } from '../src/store/contracts/purge.ts';
import type { RowPiece } from './otlp/row-pieces.ts';

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

import { v5 as uuidv5 } from 'uuid';
import type { AppError } from '../src/domain/errors.ts';
import { type IngestTable, ROW_ENCODINGS } from '../src/store/contracts/rows/columns.ts';
import type { DeadLetter } from '../src/store/contracts/dead-letters.ts';
import { listParts, type RowRange } from './row-ranges.ts';

/** Tenant of rows, and the receiver that they came through. */
export interface Origin {
  readonly tenant: string;
  /** `otlp-http`, `otlp-grpc`, `kafka`. */
  readonly source: string;
}

/** Namespace of the ids of refused rows. It must never change. */
const NAMESPACE = '5f6c1f5e-8a55-5b1c-9d0e-2f0b5a9a6c77';

/** Rows of one piece that the store refused, in the form of a dead letter. */
export interface RefusedRows {
  /** Index of the piece. */
  readonly piece: number;
  readonly rows: number;
  readonly letter: DeadLetter;
}

/**
 * Creates the dead letters of a refused range, one for each piece. The id is a hash of the bytes: rows that are sent again
 * are stored once.
 */
export function refusedRows(
  table: IngestTable,
  range: RowRange,
  sent: readonly { readonly origin: Origin }[],
  { code, message }: AppError,
): RefusedRows[] {
  return listParts(range).map(({ piece, rows, bytes }) => ({
    piece,
    rows,
    letter: {
      id: uuidv5(Buffer.concat([Buffer.from(table), bytes]), NAMESPACE),
      source: sent[piece]?.origin.source ?? '',
      topic: '',
      partition: 0,
      firstOffset: 0n,
      lastOffset: BigInt(rows - 1),
      tenant: sent[piece]?.origin.tenant ?? '',
      signal: table === 'otel_traces' ? 'traces' : 'logs',
      encoding: ROW_ENCODINGS[table],
      body: bytes,
      code,
      reason: message,
      attempts: 1,
    },
  }));
}

import type { Batcher } from './batcher.ts';
import type { Counter } from './counts.ts';
import { holdWhileRead } from './hold-while-read.ts';
import type { CollectorLimits } from './limits.ts';
import type { MemoryLease, MemoryLimiter } from './memory-limiter.ts';
import { decodeRequest, type Encoding, type Signal } from './otlp/decode-request.ts';
import type { DecodeOptions } from './otlp/row-limits.ts';
import type { Origin } from './refused-rows.ts';

/** One export request, decompressed, from whatever transport. */
export interface ExportRequest {
  readonly signal: Signal;
  readonly encoding: Encoding;
  readonly origin: Origin;
  readonly body: Uint8Array;
}

/** What the sender is told: how many records were left out and why. None of them need be sent again. */
export interface ExportResult {
  /** Malformed. */
  readonly rejected: number;
  /** Refused by the store, and kept aside with their bytes. */
  readonly setAside: number;
  readonly reasons: readonly string[];
}

/** Takes one export request to where it is durable. See `ingest` for what it throws. */
export type TakeRequest = (request: ExportRequest, lease: MemoryLease) => Promise<ExportResult>;

/**
 * Takes one export request to durable rows. The lease must hold the body's bytes already; here the rows take their place, and
 * are held until the store has them or they are given up, even when their sender was answered before that.
 * Throws `InvalidInputError` for an unreadable body, an `input_too_large` or `overloaded` error, or what the store said.
 */
export async function ingest(
  request: ExportRequest,
  lease: MemoryLease,
  deps: {
    readonly batcher: Batcher;
    readonly limiter: MemoryLimiter;
    readonly counter: Counter;
    readonly decode: DecodeOptions & { readonly limits: CollectorLimits };
  },
): Promise<ExportResult> {
  const { batcher, limiter, counter, decode } = deps;
  const { signal, encoding, body, origin } = request;
  if (body.length === 0) {
    return { rejected: 0, setAside: 0, reasons: [] };
  }
  const decoded = holdWhileRead(request, lease, decode.limits, () =>
    decodeRequest(signal, encoding, body, origin.tenant, decode),
  );
  const rowBytes = decoded.pieces.reduce((sum, piece) => sum + piece.bytes.length, 0);
  const rows = limiter.lease();
  rows.hold(rowBytes);
  lease.free(body.length);
  const setAside = await batcher.add(decoded.table, decoded.pieces, origin).finally(() => rows.release());
  counter.add(signal === 'traces' ? 'spans_accepted' : 'logs_accepted', decoded.rows - setAside.rows);
  counter.add(signal === 'traces' ? 'spans_rejected' : 'logs_rejected', decoded.rejected);
  counter.add('logs_dropped', decoded.dropped);
  counter.add('spans_stubbed', decoded.stubs);
  return {
    rejected: decoded.rejected,
    setAside: setAside.rows,
    reasons: [...decoded.reasons, ...setAside.reasons],
  };
}

import type { Batcher } from './batcher.ts';
import type { MetricWriter } from '../src/telemetry/metrics.ts';
import { holdWhileRead, type MemoryLease, type MemoryLimiter } from './memory-limiter.ts';
import type { CollectorLimits, DecodeOptions } from './limits.ts';
import { decodeRequest, type Encoding, type Signal } from './otlp/decode-request.ts';
import type { DecodedRequest } from './otlp/row-pieces.ts';
import type { Origin } from './block-inserter.ts';

/** One decompressed export request, from any transport. */
export interface ExportRequest {
  readonly signal: Signal;
  readonly encoding: Encoding;
  readonly origin: Origin;
  readonly body: Uint8Array;
}

/** Reply to the sender: the number of records that were not stored, with reasons. The sender need not send them again. */
export interface ExportResult {
  /** Malformed records. */
  readonly rejected: number;
  /** Records that the store refused; they are dead letters with their bytes. */
  readonly setAside: number;
  /** Records of purged traces. */
  readonly purged: number;
  readonly reasons: readonly string[];
}

/** Makes one export request durable. `ingest` lists the errors that it throws at once or rejects with. */
export type TakeRequest = (request: ExportRequest, lease: MemoryLease) => Promise<ExportResult>;

interface IngestDependencies {
  readonly batcher: Batcher;
  readonly limiter: MemoryLimiter;
  readonly metrics: MetricWriter;
  readonly decode: DecodeOptions & { readonly limits: CollectorLimits };
}

/**
 * Turns one export request into durable rows. The lease must already hold the bytes of the body. Here the bytes of the rows
 * replace them, until the store has the rows or gives up, even when the sender already has its reply. No code that waits
 * for the store refers to the request, so that the memory of its body is free.
 * Throws an `InvalidInputError` for an unreadable body, an `input_too_large` or an `overloaded` error. Rejects with the
 * error of the store.
 */
export function ingest(
  request: ExportRequest,
  lease: MemoryLease,
  deps: IngestDependencies,
): Promise<ExportResult> {
  if (request.body.length === 0) {
    return Promise.resolve({ rejected: 0, setAside: 0, purged: 0, reasons: [] });
  }
  return storeRows(decodeRows(request, lease, deps), deps);
}

/** Rows of a request, and the lease that holds their bytes. */
interface HeldRows extends Pick<ExportRequest, 'signal' | 'origin'> {
  readonly decoded: DecodedRequest;
  readonly lease: MemoryLease;
}

function decodeRows(
  request: ExportRequest,
  bodyLease: MemoryLease,
  { limiter, decode }: IngestDependencies,
): HeldRows {
  const { signal, encoding, body, origin } = request;
  const decoded = holdWhileRead(request, bodyLease, decode.limits, () =>
    decodeRequest(signal, encoding, body, origin.tenant, decode),
  );
  const lease = limiter.lease();
  lease.hold(decoded.pieces.reduce((sum, piece) => sum + piece.bytes.length, 0));
  bodyLease.free(body.length);
  return { signal, origin, decoded, lease };
}

async function storeRows(
  { signal, origin, decoded, lease }: HeldRows,
  { batcher, metrics }: IngestDependencies,
): Promise<ExportResult> {
  const left = await batcher.add(decoded.table, decoded.pieces, origin).finally(() => lease.release());
  const counts = [
    ['spanscore.receiver.records.written', decoded.rows - left.setAside - left.purged, { signal }],
    ['spanscore.receiver.records.rejected', decoded.rejected, { signal }],
    ['spanscore.receiver.logs.dropped', decoded.dropped, {}],
    ['spanscore.receiver.spans.stubbed', decoded.stubs, {}],
  ] as const;
  counts.filter(([, by]) => by > 0).forEach(([name, by, labels]) => metrics.add(name, by, labels));
  return {
    rejected: decoded.rejected,
    setAside: left.setAside,
    purged: left.purged,
    reasons: [...decoded.reasons, ...left.reasons],
  };
}

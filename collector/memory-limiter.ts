import { AppError } from '../src/domain/errors.ts';
import type { CollectorLimits } from './limits.ts';
import type { Encoding } from './otlp/decode-request.ts';
import { jsonCost } from './otlp/json-body.ts';

/** Bytes held by one request or its rows. */
export interface MemoryLease {
  /** Holds `bytes` more. Throws an `overloaded` error and holds nothing more when the limit is reached. */
  hold(bytes: number): void;
  /** Frees `bytes`. */
  free(bytes: number): void;
  /** Frees all bytes that are still held. */
  release(): void;
}

/** Limits the bytes held by all requests together. */
export interface MemoryLimiter {
  readonly heldBytes: number;
  /** Age of the oldest lease with bytes, milliseconds; 0 without a lease. */
  oldestMs(): number;
  lease(): MemoryLease;
}

export function createMemoryLimiter(
  maxBytes: number,
  retryAfterMs: number,
  nowMs: () => number = () => performance.now(),
): MemoryLimiter {
  let held = 0;
  // In the order of their beginning.
  const begun = new Map<object, number>();
  return {
    get heldBytes() {
      return held;
    },
    oldestMs() {
      const [first] = begun.values();
      return first === undefined ? 0 : nowMs() - first;
    },
    lease() {
      let mine = 0;
      const id = {};
      const free = (bytes: number): void => {
        const freed = Math.min(bytes, mine);
        mine -= freed;
        held -= freed;
      };
      return {
        hold(bytes) {
          if (held + bytes > maxBytes) {
            throw overloadedError(
              `the collector holds ${held} of at most ${maxBytes} bytes in flight; send again later`,
              retryAfterMs,
            );
          }
          if (!begun.has(id)) {
            begun.set(id, nowMs());
          }
          mine += bytes;
          held += bytes;
        },
        free,
        release: () => {
          free(mine);
          begun.delete(id);
        },
      };
    },
  };
}

/** Creates the error of a collector with too much work: the same request may succeed later. */
export function overloadedError(message: string, retryAfterMs: number): AppError {
  return new AppError(message, { code: 'overloaded', stage: 'receive', retryable: true, retryAfterMs });
}

/**
 * Reads a request while the lease holds the memory that reading needs beside the body: for some JSON far more than the
 * body, for protobuf almost nothing. Throws an `input_too_large` error for a body that can never be read within the limit,
 * and an `overloaded` error for one that cannot be read now.
 */
export function holdWhileRead<T>(
  { encoding, body }: { readonly encoding: Encoding; readonly body: Uint8Array },
  lease: MemoryLease,
  { maxInFlightBytes }: Pick<CollectorLimits, 'maxInFlightBytes'>,
  read: () => T,
): T {
  const most = maxInFlightBytes - body.length;
  const cost = encoding === 'json' ? jsonCost(body, most) : 0;
  if (cost > most) {
    throw new AppError(
      `reading this JSON needs more than the limit of ${maxInFlightBytes} bytes; send fewer spans per request, or use protobuf`,
      { code: 'input_too_large', stage: 'receive', retryable: false },
    );
  }
  lease.hold(cost);
  try {
    return read();
  } finally {
    lease.free(cost);
  }
}

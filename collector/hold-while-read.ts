import { AppError } from '../src/domain/errors.ts';
import type { CollectorLimits } from './limits.ts';
import type { MemoryLease } from './memory-limiter.ts';
import type { Encoding } from './otlp/decode-request.ts';
import { jsonCost } from './otlp/json-cost.ts';

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

import { AppError } from '../src/domain/errors.ts';
import type { CollectorLimits } from './limits.ts';
import type { MemoryLease } from './memory-limiter.ts';
import type { Encoding } from './otlp/decode-request.ts';
import { jsonCost } from './otlp/json-cost.ts';

/**
 * Reads a request while the lease holds what that takes beside its body: for JSON far more than the body, if it is made for
 * that; for protobuf nothing to speak of. Throws an `input_too_large` error for a body that could never be read within the
 * limit, and an `overloaded` one for what cannot be now.
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
      `it takes more than the ${maxInFlightBytes} bytes allowed to read this JSON; send fewer spans per request, or protobuf`,
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

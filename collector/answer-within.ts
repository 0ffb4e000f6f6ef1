import { StoreUnavailableError } from '../src/domain/errors.ts';
import type { TakeRequest } from './ingest.ts';
import type { CollectorLimits } from './limits.ts';

/**
 * Wraps `take` for senders that give up after a while: when the store hangs, the sender gets a retryable error before it
 * gives up. The rows stay in memory, count as waiting, and may still be stored; rows sent twice are read once.
 */
export function answerWithin(
  take: TakeRequest,
  { answerWithinMs, retryAfterMs }: Pick<CollectorLimits, 'answerWithinMs' | 'retryAfterMs'>,
): TakeRequest {
  // Called here, so that no closure below keeps the request in memory.
  return (request, lease) => orTimeout(take(request, lease), answerWithinMs, retryAfterMs);
}

async function orTimeout<T>(taking: Promise<T>, answerWithinMs: number, retryAfterMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `the store did not answer within ${answerWithinMs} ms; send again later`;
    late.reject(new StoreUnavailableError(message, { retryAfterMs }));
  }, answerWithinMs);
  try {
    return await Promise.race([taking, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

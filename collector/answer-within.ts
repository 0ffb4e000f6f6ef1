import { StoreUnavailableError } from '../src/domain/errors.ts';
import type { TakeRequest } from './ingest.ts';
import type { CollectorLimits } from './limits.ts';

/**
 * `take` for senders that give up after a while: a store that hangs is told to them, retryably, while they still listen. Their
 * rows stay where they are, counted as waiting, and may yet be stored; sent again, they are read once.
 */
export function answerWithin(
  take: TakeRequest,
  { answerWithinMs, retryAfterMs }: Pick<CollectorLimits, 'answerWithinMs' | 'retryAfterMs'>,
): TakeRequest {
  // Called here, so that nothing below holds on to the request.
  return (request, lease) => orTimeout(take(request, lease), answerWithinMs, retryAfterMs);
}

async function orTimeout<T>(taking: Promise<T>, answerWithinMs: number, retryAfterMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const message = `the store has not answered within ${answerWithinMs} ms; send again later`;
    late.reject(new StoreUnavailableError(message, { retryAfterMs }));
  }, answerWithinMs);
  try {
    return await Promise.race([taking, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

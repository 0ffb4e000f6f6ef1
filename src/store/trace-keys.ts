import { TupleParam } from '@clickhouse/client';
import { InvalidInputError } from '../domain/errors.ts';
import type { TraceKey } from './contracts/stores.ts';
import type { QueryParams } from './database.ts';

/** Most traces that one query asks for. */
export const MAX_KEYS = 500;

/** The condition that takes `keyParams`. */
export const IN_KEYS = '(Tenant, TraceId) IN {keys:Array(Tuple(String, String))}';

/**
 * Narrows a read of spans to the days in which the traces arrived, so that a month of partitions is not searched for each
 * id. A retried insert may have stamped the row earlier than its activity: the bounds are wider than any retry is old.
 */
export const SEEN_CLAUSE = `WITH (
  SELECT (min(FirstArrival) - toIntervalDay(2), max(LastArrival) + toIntervalDay(1))
  FROM trace_activity WHERE ${IN_KEYS}
) AS seen`;
/** The condition that goes with `SEEN_CLAUSE`. */
export const WITHIN_SEEN = 'ArrivedAt >= seen.1 AND ArrivedAt <= seen.2';

/** The parameter for `IN_KEYS`. Throws an `InvalidInputError` for more than `MAX_KEYS` keys. */
export function keyParams(keys: readonly TraceKey[]): QueryParams {
  if (keys.length > MAX_KEYS) {
    throw new InvalidInputError(`${keys.length} traces asked for at once; ask for at most ${MAX_KEYS}`);
  }
  return { keys: keys.map((key) => new TupleParam([key.tenant, key.traceId])) };
}

/** The keys in slices that one query takes. */
export function* slicesOf<T>(items: readonly T[], size: number = MAX_KEYS): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += size) {
    yield items.slice(from, from + size);
  }
}

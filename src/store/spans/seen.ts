import type { TraceKey } from '../contracts/stores.ts';
import type { Database, QueryParams } from '../database.ts';
import { IN_KEYS, keyParams } from './trace-keys.ts';

/**
 * A retried insert may have stamped its rows earlier than their activity (by as long as its sender retries), and a block
 * is stamped before it is seen: the bounds are wider than either.
 */
const DAYS_BEFORE = 2;
const DAYS_AFTER = 1;

/** The condition that goes with `seenParams`: the days in which the traces arrived, so that no other day is searched. */
export const WITHIN_SEEN = `ArrivedAt >= toDateTime64({seenFrom:UInt32}, 9) - toIntervalDay(${DAYS_BEFORE})
  AND ArrivedAt <= toDateTime64({seenTo:UInt32}, 9) + toIntervalDay(${DAYS_AFTER})`;

/** The parameters of `IN_KEYS` and `WITHIN_SEEN`. */
export async function seenParams(database: Database, keys: readonly TraceKey[]): Promise<QueryParams> {
  const params = keyParams(keys);
  const [row] = await database.rows<{ seenFrom: number; seenTo: number }>(
    `SELECT toUnixTimestamp(min(FirstArrival)) AS seenFrom, toUnixTimestamp(max(LastArrival)) AS seenTo
     FROM trace_activity WHERE ${IN_KEYS}`,
    params,
  );
  return { ...params, seenFrom: row?.seenFrom ?? 0, seenTo: row?.seenTo ?? 0 };
}

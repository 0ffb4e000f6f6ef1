import type { Database } from '../database.ts';
import type { TraceKey } from '../contracts/stores.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from './trace-keys.ts';

/**
 * Adds an arrival without spans to each stored trace, by the store's clock: live scoring looks at the trace again when it is quiet.
 * Does nothing with traces that are not stored, or whose first arrival is earlier.
 * @param sinceMs earliest first arrival, Unix milliseconds
 */
export async function reopenTraces(
  database: Pick<Database, 'insertSelected'>,
  keys: readonly TraceKey[],
  sinceMs: number,
): Promise<void> {
  for (const slice of splitIntoSlices(keys)) {
    await database.insertSelected(
      `INSERT INTO trace_arrivals
         (ArrivedAt, Tenant, TraceId, SpanIds, ParentIds, FirstStart, LastEnd, Signals, RootSeen, ErrorSeen)
       SELECT now64(9), Tenant, TraceId, [], [], min(FirstStart), max(LastEnd), groupUniqArrayArray(Signals), max(RootSeen), 0
       FROM trace_activity WHERE ${IN_KEYS} GROUP BY Tenant, TraceId
       HAVING min(FirstArrival) >= fromUnixTimestamp64Milli({since:Int64})`,
      { ...keyParams(slice), since: Math.trunc(sinceMs) },
    );
  }
}

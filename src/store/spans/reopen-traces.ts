import type { Database } from '../database.ts';
import type { TraceKey } from '../contracts/stores.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from './trace-keys.ts';

/**
 * Adds an arrival without spans to each stored trace, by the store's clock: live scoring looks at the trace again when it is quiet.
 * Does nothing with traces that are not stored.
 */
export async function reopenTraces(
  database: Pick<Database, 'insertSelected'>,
  keys: readonly TraceKey[],
): Promise<void> {
  for (const slice of splitIntoSlices(keys)) {
    await database.insertSelected(
      `INSERT INTO trace_arrivals
         (ArrivedAt, Tenant, TraceId, SpanIds, ParentIds, FirstStart, LastEnd, Signals, RootSeen, ErrorSeen)
       SELECT now64(9), Tenant, TraceId, [], [], min(FirstStart), max(LastEnd), groupUniqArrayArray(Signals), max(RootSeen), 0
       FROM trace_activity WHERE ${IN_KEYS} GROUP BY Tenant, TraceId`,
      keyParams(slice),
    );
  }
}

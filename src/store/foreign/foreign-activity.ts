import { joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import { toActivity, type ActivityRow } from '../spans/activity.ts';
import type { Database } from '../database.ts';
import { splitIntoSlices } from '../spans/trace-keys.ts';
import { agentSpanSql, COUNTS, END, START, STATUS, WANTED_TRACES } from './foreign-rows.ts';
import type { ForeignSchema } from './foreign-schema.ts';
import { foreignParams } from './foreign-tables.ts';
import { readBounds } from './trace-bounds.ts';

/**
 * Activity of traces by their spans in a table without arrival times, keyed by `joinTraceKey`: each span counts as arrived when
 * it ended, or now when its clock is ahead. Traces that are not there are absent.
 */
export async function readForeignActivity(
  database: Database,
  schema: ForeignSchema,
  keys: readonly TraceKey[],
): Promise<Map<string, TraceActivity>> {
  const found = new Map<string, TraceActivity>();
  const wanted = keys.filter((key) => key.tenant === '');
  for (const slice of splitIntoSlices(wanted)) {
    const bounds = await readBounds(database, schema.lookup, { keys: slice, activities: [] });
    const rows = await database.rows<ActivityRow>(
      `SELECT '' AS tenant, origin.TraceId AS traceId,
         intDiv(least(min(${END}), toUnixTimestamp64Nano(now64(9))), 1000000) AS firstArrival,
         intDiv(least(max(${END}), toUnixTimestamp64Nano(now64(9))), 1000000) AS lastArrival,
         min(${START}) AS firstStart,
         max(${END}) AS lastEnd,
         max(origin.ParentSpanId = '') AS rootSeen,
         max(${agentSpanSql(schema.traces, database.signals)}) AS agentSeen,
         max(${STATUS} = 'Error') AS errorSeen
       FROM ${schema.traces.name} AS origin
       WHERE ${WANTED_TRACES} AND ${COUNTS}
       GROUP BY origin.TraceId`,
      foreignParams(slice, bounds),
    );
    for (const row of rows) {
      const activity = toActivity(row);
      found.set(joinTraceKey(activity), activity);
    }
  }
  return found;
}

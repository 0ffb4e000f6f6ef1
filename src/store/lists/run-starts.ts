import type { ListFilters } from '../contracts/lists.ts';
import type { SessionKey } from '../contracts/sessions.ts';
import type { Database } from '../database.ts';
import { buildConditions, OF_RUNS, ofTimes, type Conditions } from './list-conditions.ts';
import { SMALL_BLOCKS } from './scan-page.ts';
import { afterParams, type CandidateRange, type TraceCandidate } from './trace-candidate.ts';

/** First run of a trace. */
export interface RunStart extends TraceCandidate, SessionKey {}

/**
 * Reads first runs by their start, newest first.
 * @param further condition beside the filters
 */
export async function readRunStarts(
  database: Database,
  filters: ListFilters,
  { after, limit, further }: CandidateRange & { readonly further: Conditions },
): Promise<RunStart[]> {
  const { sql, params } = buildConditions(filters, OF_RUNS, ofTimes('StartedAt'));
  const rows = await database.rows<Omit<RunStart, 'atMs'> & { readonly atMs: string }>(
    `SELECT Tenant AS tenant, TraceId AS traceId, SessionId AS sessionId, toString(toUnixTimestamp64Milli(StartedAt)) AS atMs
     FROM ${runTable(filters)} ${sql} AND ${further.sql} AND IsDeleted = 0 ${after === undefined ? '' : AFTER}
     ORDER BY StartedAt DESC, TraceId DESC, Tenant DESC
     LIMIT {limit:UInt32} ${SMALL_BLOCKS}`,
    { ...params, ...further.params, ...afterParams(after), limit },
  );
  return rows.map((row) => ({ ...row, atMs: Number(row.atMs), isRead: true }));
}

/** Condition for `afterParams`. Its first part serves the primary key. */
const AFTER = `AND StartedAt <= fromUnixTimestamp64Milli({afterMs:Int64})
  AND (StartedAt, TraceId, Tenant) < (fromUnixTimestamp64Milli({afterMs:Int64}), {afterId:String}, {afterTenant:String})`;

/** Returns the source of a list of runs, up to its first condition. The traces of an id, a session or a user are found by indexes of `runs`, all others in the order of the list. */
function runTable({ traceId, sessionId, userId }: ListFilters): string {
  const asksId = [traceId, sessionId, userId].some((asked) => asked !== undefined);
  return asksId ? "runs WHERE Target = 'trace' AND TargetId = TraceId AND" : 'run_starts WHERE';
}

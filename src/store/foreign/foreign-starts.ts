import type { TraceActivity, TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { toNanos, type StartCandidate, type StartIndex, type StartRange } from '../spans/trace-starts.ts';
import { MAX_KEYS } from '../spans/trace-keys.ts';
import { COUNTS, START } from './foreign-rows.ts';
import type { ForeignSchema } from './foreign-schema.ts';

const HOUR_NS = 3_600_000_000_000n;
const SHORTEST_NS = 1_000_000_000n;

/** A window with fewer traces than this is followed by a wider one. */
const FEW = MAX_KEYS / 5;

/**
 * Starts of traces in a table that is not ordered by them: read in windows of time, as wide as the traces in the window before
 * were few. A trace with spans in several windows has a candidate in each.
 */
export function foreignStarts(
  database: Database,
  schema: () => Promise<ForeignSchema>,
  activity: (keys: readonly TraceKey[]) => Promise<Map<string, TraceActivity>>,
): StartIndex {
  let widthNs = HOUR_NS;

  async function candidates(range: StartRange, after: StartCandidate) {
    const endNs = BigInt(toNanos(range.toMs));
    const fromNs = BigInt(after.start);
    if (fromNs >= endNs || (range.tenant ?? '') !== '') {
      return { found: [], next: null };
    }
    const windowEndNs = fromNs + widthNs < endNs ? fromNs + widthNs : endNs;
    const { traces } = await schema();
    const found = await database.rows<StartCandidate>(
      `SELECT min(${START}) AS start, origin.TraceId AS traceId, '' AS tenant
       FROM ${traces.name} AS origin
       WHERE origin.Timestamp >= fromUnixTimestamp64Nano({from:Int64})
         AND origin.Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND ${COUNTS}
       GROUP BY traceId
       HAVING (start, traceId) > ({from:Int64}, {afterTrace:String})
       ORDER BY start, traceId
       LIMIT ${MAX_KEYS}`,
      { from: String(fromNs), to: String(windowEndNs), afterTrace: after.traceId },
    );
    const last = found.at(-1);
    if (found.length === MAX_KEYS && last !== undefined) {
      const usedNs = 2n * (BigInt(last.start) - fromNs);
      widthNs = usedNs > SHORTEST_NS ? usedNs : SHORTEST_NS;
      return { found, next: last };
    }
    widthNs = found.length < FEW ? widthNs * 4n : widthNs;
    const next = windowEndNs < endNs ? { start: String(windowEndNs), traceId: '', tenant: '' } : null;
    return { found, next };
  }

  return { candidates, activity };
}

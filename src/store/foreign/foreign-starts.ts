import type { SpanSource, TraceActivity, TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { toNanos, type StartCandidate, type StartIndex, type StartRange } from '../spans/trace-starts.ts';
import { COUNTS, START } from './foreign-rows.ts';
import type { ForeignSchema } from './foreign-schema.ts';

const HOUR_NS = 3_600_000_000_000n;
const SHORTEST_NS = 1_000_000_000n;

/** A window with less than this part of the wanted traces is followed by a wider one. */
const FEW = 0.2;

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

  async function candidates(range: StartRange, after: StartCandidate, most: number) {
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
       LIMIT {most:UInt32}`,
      { from: String(fromNs), to: String(windowEndNs), afterTrace: after.traceId, most },
    );
    const last = found.at(-1);
    if (found.length === most && last !== undefined) {
      const usedNs = 2n * (BigInt(last.start) - fromNs);
      widthNs = usedNs > SHORTEST_NS ? usedNs : SHORTEST_NS;
      return { found, next: last };
    }
    widthNs = found.length < FEW * most ? widthNs * 4n : widthNs;
    const next = windowEndNs < endNs ? { start: String(windowEndNs), traceId: '', tenant: '' } : null;
    return { found, next };
  }

  return { candidates, activity };
}

/** Estimates how many traces have a span that starts in the range: too few for a table that cannot be read in the time of a statement. */
export async function countForeign(
  database: Database,
  { traces }: ForeignSchema,
  { tenant, fromMs, toMs }: Parameters<SpanSource['count']>[0],
): Promise<number> {
  if ((tenant ?? '') !== '') {
    return 0;
  }
  const [row] = await database.rows<{ traces: string }>(
    `SELECT uniq(origin.TraceId) AS traces FROM ${traces.name} AS origin
     WHERE origin.Timestamp >= fromUnixTimestamp64Nano({from:Int64})
       AND origin.Timestamp < fromUnixTimestamp64Nano({to:Int64}) AND ${COUNTS}
     SETTINGS timeout_overflow_mode = 'break'`,
    { from: toNanos(fromMs), to: toNanos(toMs) },
  );
  return Number(row?.traces ?? 0);
}

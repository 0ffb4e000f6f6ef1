import type { TraceActivity, TraceKey } from '../contracts/stores.ts';
import { readActivity } from '../spans/activity.ts';
import type { Database } from '../database.ts';
import { joinTraceKey } from '../contracts/stores.ts';

/** Activity from an earlier look-up. */
export interface Remembered {
  readonly activity: TraceActivity;
  /** True shortly after the look-up: a pass reads the spans that its look-up has seen. */
  readonly isRecent: boolean;
}

/** Unix nanoseconds, both inclusive. */
export interface TimeBounds {
  readonly from: bigint;
  readonly to: bigint;
}

const SECOND = 1_000_000_000n;

/** Range around a known span in which a trace's other spans may have started. */
const AROUND = 24n * 3600n * SECOND;

/** The last moment that a time column holds. */
const LATEST = 2n ** 63n - 1n;

/** Bounds that exclude nothing. */
const ALWAYS: TimeBounds = { from: 0n, to: LATEST };

/**
 * Returns the range of starts of these traces, so that a table without an order by trace is not searched completely: from
 * the exporter's table of starts when it has all of them, else a day around the known spans, else no limit.
 */
export async function readBounds(
  database: Database,
  lookup: string | null,
  { keys, activities }: { keys: readonly TraceKey[]; activities: readonly TraceActivity[] },
): Promise<TimeBounds> {
  const seen = [...activities, ...(await readActivity(database, missingIn(keys, activities))).values()];
  const exact = lookup === null ? null : await lookUp(database, lookup, keys);
  if (exact !== null) {
    return seen.length === 0 ? exact : union([listBounds(seen), exact]);
  }
  if (seen.length < keys.length) {
    return ALWAYS;
  }
  return buildWindow(listBounds(seen));
}

/** Returns the range of the known spans of traces; at least one trace. */
export function listBounds(activities: readonly TraceActivity[]): TimeBounds {
  return union(activities.map((each) => ({ from: each.firstStartUnixNano, to: each.lastEndUnixNano })));
}

/** Returns the bounds extended by a day on both sides. */
export function buildWindow({ from, to }: TimeBounds): TimeBounds {
  return { from: from > AROUND ? from - AROUND : 0n, to: to < LATEST - AROUND ? to + AROUND : LATEST };
}

function missingIn(keys: readonly TraceKey[], activities: readonly TraceActivity[]): TraceKey[] {
  const known = new Set(activities.map(joinTraceKey));
  return keys.filter((key) => !known.has(joinTraceKey(key)));
}

/** Returns null when one of the traces is missing. Times are whole seconds, rounded down. */
async function lookUp(
  database: Database,
  lookup: string,
  keys: readonly TraceKey[],
): Promise<TimeBounds | null> {
  const traceIds = [...new Set(keys.map((key) => key.traceId))];
  const [row] = await database.rows<{ from: number; to: number; traces: string }>(
    `SELECT toUnixTimestamp(min(Start)) AS from, toUnixTimestamp(max(End)) AS to, uniqExact(TraceId) AS traces
     FROM ${lookup} WHERE TraceId IN {traceIds:Array(String)}`,
    { traceIds },
  );
  return row === undefined || Number(row.traces) < traceIds.length
    ? null
    : { from: BigInt(row.from) * SECOND, to: (BigInt(row.to) + 1n) * SECOND };
}

function union(bounds: readonly TimeBounds[]): TimeBounds {
  return bounds.reduce((all, each) => ({
    from: each.from < all.from ? each.from : all.from,
    to: each.to > all.to ? each.to : all.to,
  }));
}

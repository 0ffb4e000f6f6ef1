import { joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';
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

/** Most traces whose times are remembered. */
const MAX_REMEMBERED = 10_000;

/** Time for which they are, milliseconds: much shorter than the days by which the bounds are wider. */
const REMEMBER_MS = 10 * 60_000;

interface Seen {
  readonly firstMs: number;
  readonly lastMs: number;
  /** Monotonic time from which it no longer counts. */
  readonly untilMs: number;
}

/** Memory of when traces arrived. Their activity is read before their spans, so the times are not asked for again. */
export interface SeenMemory {
  remember(activities: Iterable<TraceActivity>): void;
  /** Returns the first and the last arrival of some traces, Unix milliseconds; undefined unless all are remembered. */
  find(keys: readonly TraceKey[]): { firstMs: number; lastMs: number } | undefined;
}

/** Creates a memory that drops its oldest traces when it is full. */
export function createSeenMemory(monotonicMs: () => number = () => performance.now()): SeenMemory {
  const entries = new Map<string, Seen>();
  return {
    remember(activities) {
      const untilMs = monotonicMs() + REMEMBER_MS;
      for (const activity of activities) {
        const name = joinTraceKey(activity);
        entries.delete(name);
        entries.set(name, { firstMs: activity.firstArrivalMs, lastMs: activity.lastArrivalMs, untilMs });
      }
      for (const oldest of entries.keys()) {
        if (entries.size <= MAX_REMEMBERED) {
          break;
        }
        entries.delete(oldest);
      }
    },
    find(keys) {
      const nowMs = monotonicMs();
      let firstMs = Infinity;
      let lastMs = 0;
      for (const key of keys) {
        const seen = entries.get(joinTraceKey(key));
        if (seen === undefined || seen.untilMs <= nowMs) {
          return undefined;
        }
        firstMs = Math.min(firstMs, seen.firstMs);
        lastMs = Math.max(lastMs, seen.lastMs);
      }
      return keys.length === 0 ? undefined : { firstMs, lastMs };
    },
  };
}

/** The parameters of `IN_KEYS` and `WITHIN_SEEN`. */
export async function seenParams(
  database: Database,
  keys: readonly TraceKey[],
  memory?: SeenMemory,
): Promise<QueryParams> {
  const params = keyParams(keys);
  const seen = memory?.find(keys);
  if (seen !== undefined) {
    return {
      ...params,
      seenFrom: Math.trunc(seen.firstMs / 1_000),
      seenTo: Math.trunc(seen.lastMs / 1_000),
    };
  }
  const [row] = await database.rows<{ seenFrom: number; seenTo: number }>(
    `SELECT toUnixTimestamp(min(FirstArrival)) AS seenFrom, toUnixTimestamp(max(LastArrival)) AS seenTo
     FROM trace_activity WHERE ${IN_KEYS}`,
    params,
  );
  return { ...params, seenFrom: row?.seenFrom ?? 0, seenTo: row?.seenTo ?? 0 };
}

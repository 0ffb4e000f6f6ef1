import { joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { IN_KEYS, keyParams } from './trace-keys.ts';
import type { QueryParams } from '../values.ts';

/** Source of facts: a table or a subquery in brackets, with the columns that facts need. */
export interface FactRows {
  readonly from: string;
  /** SQL expression for the requested attributes of a row: an array of (key, value). A key may occur twice. */
  readonly asked: string;
  readonly params: QueryParams;
}

/** Source of spans and logs: our own tables, or foreign tables with the columns of our own tables. */
export interface SpanTables {
  /** Table, or a subquery in brackets. */
  readonly spans: string;
  /** Null when the source has no logs. */
  readonly logs: string | null;
  /**
   * ORDER BY columns that put log records with equal times in their order of arrival. Only this order shows the order of
   * messages.
   */
  readonly logOrder: string;
  /** SQL condition, in addition to `IN_KEYS`, that excludes the parts of the table without rows of these traces. */
  readonly within: string;
  /** True when the feedback in span events and log records is known, not only that in attributes of spans. */
  readonly hasFeedbackEvents: boolean;
  /** SQL expression for the attribute keys of a span. */
  readonly attributeKeys: string;
  /** Returns an SQL expression for the text of one value in attributes of `spans`; '' where it is absent. */
  readonly attribute: (attributes: string, key: string) => string;
  /** Query parameters of all these expressions and of `IN_KEYS`, for at most `MAX_KEYS` traces. */
  params(keys: readonly TraceKey[]): Promise<QueryParams>;
  facts(keys: readonly TraceKey[], attributeKeys: readonly string[]): Promise<FactRows>;
}

/** Reads whole maps, so it is used only for requested keys. */
export const ASKED_OF_MAPS = `arrayFilter(pair -> has({attributeKeys:Array(String)}, pair.1), arrayConcat(
    arrayZip(arrayMap(key -> toString(key), mapKeys(SpanAttributes)), mapValues(SpanAttributes)),
    arrayZip(arrayMap(key -> toString(key), mapKeys(ResourceAttributes)), mapValues(ResourceAttributes))))`;

/** Returns an SQL expression for a value in a map. */
export const valueOfMap = (map: string, key: string): string => `${map}['${key}']`;

/** Our own tables. With a memory, the arrivals of known traces are not read again. */
export function ownTables(database: Database, memory?: SeenMemory): SpanTables {
  const params = (keys: readonly TraceKey[]) => seenParams(database, keys, memory);
  return {
    spans: 'otel_traces',
    logs: 'otel_logs',
    logOrder: 'ArrivedAt, _part_offset',
    within: WITHIN_SEEN,
    hasFeedbackEvents: true,
    attributeKeys: 'SpanAttributes.keys',
    attribute: valueOfMap,
    params,
    facts: async (keys, attributeKeys) => ({
      from: 'otel_traces',
      asked: ASKED_OF_MAPS,
      params: { ...(await params(keys)), attributeKeys },
    }),
  };
}

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

/**
 * Memory of when traces arrived, which drops its oldest traces when it is full. Their activity is read before their spans, so the times
 * are not asked for again.
 */
export class SeenMemory {
  readonly #entries = new Map<string, Seen>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  remember(activities: Iterable<TraceActivity>): void {
    const untilMs = this.#monotonicMs() + REMEMBER_MS;
    for (const activity of activities) {
      const name = joinTraceKey(activity);
      this.#entries.delete(name);
      this.#entries.set(name, { firstMs: activity.firstArrivalMs, lastMs: activity.lastArrivalMs, untilMs });
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_REMEMBERED) {
        break;
      }
      this.#entries.delete(oldest);
    }
  }

  /** Returns the first and the last arrival of some traces, Unix milliseconds; undefined unless all are remembered. */
  find(keys: readonly TraceKey[]): { firstMs: number; lastMs: number } | undefined {
    const nowMs = this.#monotonicMs();
    const known = keys.flatMap((key) => {
      const seen = this.#entries.get(joinTraceKey(key));
      return seen !== undefined && seen.untilMs > nowMs ? [seen] : [];
    });
    return keys.length === 0 || known.length < keys.length
      ? undefined
      : {
          firstMs: Math.min(...known.map((each) => each.firstMs)),
          lastMs: Math.max(...known.map((each) => each.lastMs)),
        };
  }
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

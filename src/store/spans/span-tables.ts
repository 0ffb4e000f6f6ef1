import type { TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';
import { seenParams, WITHIN_SEEN, type SeenMemory } from './seen.ts';

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

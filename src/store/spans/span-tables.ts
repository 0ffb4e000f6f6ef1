import type { TraceKey } from '../contracts/stores.ts';
import type { Database, QueryParams } from '../database.ts';
import { seenParams, WITHIN_SEEN } from './seen.ts';

/** Source of facts: a table, or a subquery in brackets, with the columns that facts need. */
export interface FactRows {
  readonly from: string;
  /** An expression that yields the wanted attributes of a row as an array of (key, value); one key may come twice. */
  readonly asked: string;
  readonly params: QueryParams;
}

/** Source of spans and logs: our own tables, or foreign tables with our columns. */
export interface SpanTables {
  /** A table, or a subquery in brackets. */
  readonly spans: string;
  /** Null where there are none. */
  readonly logs: string | null;
  /** Orders log records of one time as they came, which alone tells the order of messages. */
  readonly logOrder: string;
  /** A condition, beside `IN_KEYS`, that keeps a query from searching what cannot hold the traces. */
  readonly within: string;
  /** An expression that yields a span's attribute keys. */
  readonly attributeKeys: string;
  /** The parameters of all of these and of `IN_KEYS`, for at most `MAX_KEYS` traces. */
  params(keys: readonly TraceKey[]): Promise<QueryParams>;
  facts(keys: readonly TraceKey[], attributeKeys: readonly string[]): Promise<FactRows>;
}

/** Reads whole maps, so only for keys that someone asked for. */
export const ASKED_OF_MAPS = `arrayFilter(pair -> has({attributeKeys:Array(String)}, pair.1), arrayConcat(
    arrayZip(arrayMap(key -> toString(key), mapKeys(SpanAttributes)), mapValues(SpanAttributes)),
    arrayZip(arrayMap(key -> toString(key), mapKeys(ResourceAttributes)), mapValues(ResourceAttributes))))`;

export function ownTables(database: Database): SpanTables {
  const params = (keys: readonly TraceKey[]) => seenParams(database, keys);
  return {
    spans: 'otel_traces',
    logs: 'otel_logs',
    logOrder: 'ArrivedAt, _part_offset',
    within: WITHIN_SEEN,
    attributeKeys: 'SpanAttributes.keys',
    params,
    facts: async (keys, attributeKeys) => ({
      from: 'otel_traces',
      asked: ASKED_OF_MAPS,
      params: { ...(await params(keys)), attributeKeys },
    }),
  };
}

import type { TupleParam } from '@clickhouse/client';
import { IN_KEYS } from '../spans/trace-keys.ts';
import type { QueryParams } from '../query-params.ts';

/** Most traces whose shards are named: the traces of a larger batch are on all shards. */
const MAX_NAMED = 100;

/**
 * Adds a condition on the trace ids alone to a statement that asks for traces by their keys. A condition on tenant and trace id
 * together does not tell the shards.
 */
export function nameShards(sql: string, params: QueryParams = {}): { sql: string; params: QueryParams } {
  const keys = params['keys'];
  if (!sql.includes(IN_KEYS) || !Array.isArray(keys) || keys.length > MAX_NAMED) {
    return { sql, params };
  }
  const traceIds = (keys as TupleParam[]).map(({ values }) => String(values[1]));
  return {
    sql: sql.replaceAll(IN_KEYS, `${IN_KEYS} AND TraceId IN {keyTraces:Array(String)}`),
    params: { ...params, keyTraces: [...new Set(traceIds)] },
  };
}

import type { PurgeHashKey } from '../contracts/purge.ts';
import type { QueryParams } from '../query-params.ts';

/** Returns SQL for the hash of an id (`PurgeKey.compute`). It needs `hashParams`. The arguments are SQL expressions. */
export function hashSql(kind: string, tenant: string, id: string): string {
  const text = `concat(${kind}, ':', toString(length(${tenant})), ':', ${tenant}, ':', ${id})`;
  return `lower(hex(SHA256(concat(unhex({outer:String}), SHA256(concat(unhex({inner:String}), ${text}))))))`;
}

export function hashParams({ inner, outer }: PurgeHashKey): QueryParams {
  return { inner, outer };
}

import type { PurgeHashKey } from '../contracts/purge.ts';
import type { QueryParams } from '../values.ts';

/** Returns SQL for the hash of an id (`PurgeKey.compute`). It needs `hashParams`. The arguments are SQL expressions. */
export function hashSql(kind: string, tenant: string, id: string): string {
  const text = `concat(${kind}, ':', toString(length(${tenant})), ':', ${tenant}, ':', ${id})`;
  return `lower(hex(SHA256(concat(unhex({outer:String}), SHA256(concat(unhex({inner:String}), ${text}))))))`;
}

/** Returns SQL for the form of a user's or a session's id that is hashed. */
export function composedSql(id: string): string {
  return `normalizeUTF8NFC(toValidUTF8(${id}))`;
}

export function hashParams({ inner, outer }: PurgeHashKey): QueryParams {
  return { inner, outer };
}

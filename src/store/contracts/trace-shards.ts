import { createHash } from 'node:crypto';
import { joinTraceKey, type TraceKey } from './stores.ts';

/** Into how many shards all traces are divided among the members of a store. */
export const SHARDS = 1_024;

/** A number of 32 bits from the SHA-256 of a text. */
export function hashNumber(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0);
}

/** The shard of a trace, from 0; the store's queries compute the same. */
export function computeShard(key: TraceKey): number {
  return hashNumber(joinTraceKey(key)) % SHARDS;
}

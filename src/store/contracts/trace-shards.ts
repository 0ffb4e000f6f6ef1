import { sha256 } from '../../domain/identity.ts';
import { joinTraceKey, type TraceKey } from './stores.ts';

/** Number of shards of all traces, divided among the members of a store. */
export const SHARDS = 1_024;

/** Returns a 32-bit number from the SHA-256 of a text. */
export function hashNumber(text: string): number {
  return sha256(text).readUInt32BE(0);
}

/** Returns the shard of a trace, from 0; queries of the store compute the same number. */
export function computeShard(key: TraceKey): number {
  return hashNumber(joinTraceKey(key)) % SHARDS;
}

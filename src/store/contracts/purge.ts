import type { SessionKey } from './lists.ts';
import type { TraceKey } from './stores.ts';

/** Kinds of things that can be purged. */
export type PurgeKind = 'trace' | 'session' | 'user' | 'tenant';

/** Thing to purge. */
export interface PurgeSubject {
  readonly kind: PurgeKind;
  /** Trace id, session id, user id or name of a tenant. */
  readonly id: string;
  /** Only data of this tenant ('' for data without a tenant); undefined: of any. Not for the kind `tenant`. */
  readonly tenant: string | undefined;
}

/** Thing to purge, of which only the hash is known. */
export interface HashedSubject extends Omit<PurgeSubject, 'id'> {
  readonly hash: string;
  /** Range of arrivals, Unix milliseconds by the store's clock; the end is inclusive. */
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Key of the hashes in tombstones, as the store needs it to compute the same hashes. */
export interface PurgeHashKey {
  /** Name of the key, by which processes find out that they have the same one. */
  readonly keyId: string;
  /** Padded keys of the inner and the outer hash of HMAC-SHA256, 64 bytes in hex. */
  readonly inner: string;
  readonly outer: string;
}

/** Mark that a thing was purged. */
export interface Tombstone {
  readonly kind: PurgeKind;
  readonly tenant: string;
  /** HMAC of the id, in hex. */
  readonly hash: string;
  readonly keyId: string;
}

export interface StoredTombstone extends Tombstone {
  /** Time of its last write by the store's clock, Unix milliseconds. */
  readonly atMs: number;
}

/** Number of traces and sessions of a purge, and their tenants. */
export interface PurgeExtent {
  readonly traces: number;
  readonly sessions: number;
  readonly tenants: readonly string[];
}

/** Traces that were purged, as this process knows them. */
export interface PurgedTraces {
  /** True while no trace was purged. */
  readonly isEmpty: boolean;
  has(key: TraceKey): boolean;
  /** Reads new tombstones when the last read is more than 5 s old; undefined when it is not. Throws when the store does. */
  renew(): Promise<void> | undefined;
  /** Returns a mark for `isTouched`: the moment now. */
  mark(): number;
  /** Returns true when rows of the session were purged after the mark. */
  isTouched(key: SessionKey, mark: number): boolean;
}

/** For a process whose store has no purged traces. */
export const NOTHING_PURGED: PurgedTraces = {
  isEmpty: true,
  has: () => false,
  renew: () => undefined,
  mark: () => 0,
  isTouched: () => false,
};

import type { Job } from './jobs.ts';
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

/** Tombstone as it is stored. */
export interface StoredTombstone extends Tombstone {
  /** Time of its last write by the store's clock, Unix milliseconds. */
  readonly atMs: number;
}

export interface TombstoneStore {
  /** Stores one tombstone. */
  write(tombstone: Tombstone, jobId: string): Promise<void>;
  /**
   * Reads the tombstones that were written at or after a time (Unix milliseconds by the store's clock), in batches. They may repeat
   * those of an earlier read.
   */
  read(sinceMs: number): AsyncIterable<readonly StoredTombstone[]>;
}

/** Number of traces and sessions of a purge, and their tenants. */
export interface PurgeExtent {
  readonly traces: number;
  readonly sessions: number;
  readonly tenants: readonly string[];
}

/** Store of the work of purges. A step that is repeated has the same result. */
export interface PurgeStore {
  /** Collects the traces of a subject: by its id in attributes of spans and logs, in `runs` and in `scores`. */
  collect(jobId: string, subject: PurgeSubject): Promise<void>;
  /** Collects the traces of a subject that arrived in a range of time, by the hash of its id alone. */
  collectByHash(jobId: string, subject: HashedSubject, key: PurgeHashKey): Promise<void>;
  /**
   * Collects the traces and sessions that have a tombstone and rows nevertheless, and the tenants that were purged since a time (Unix
   * milliseconds): rows of a copy that is older than the tombstones.
   */
  collectBuried(jobId: string, key: PurgeHashKey, sinceMs: number): Promise<void>;
  /**
   * Adds what belongs to the collected traces: traces of the same run, sessions, scores, dead letters. Leaves out traces with data that
   * arrived at or after `beforeMs` (Unix milliseconds).
   */
  complete(jobId: string, beforeMs: number | undefined): Promise<void>;
  readExtent(jobId: string): Promise<PurgeExtent>;
  /** Counts the texts that the purge leaves and that name the id of a user or a session as a word: a person decides about them. */
  countMentions(jobId: string, subject: PurgeSubject): Promise<number>;
  /** Writes tombstones of the collected traces and sessions. */
  bury(jobId: string, key: PurgeHashKey): Promise<void>;
  /** Counts the rows that a purge deletes, or empties of ids, by table; without tables that have none. */
  count(jobId: string): Promise<Readonly<Record<string, number>>>;
  /** Deletes these rows of tables. Resolves when they are gone, or when the signal is aborted. */
  remove(jobId: string, tables: readonly string[], signal: AbortSignal): Promise<void>;
  /** Lets the collected sessions be scored again from their remaining turns. */
  reopenSessions(jobId: string): Promise<void>;
  /** Finds the texts that are ids of collected traces or sessions. */
  findCollected(jobId: string, texts: readonly string[]): Promise<ReadonlySet<string>>;
  /** Replaces the specification in all rows of another job. */
  replaceSpec(id: string, spec: Job['spec']): Promise<void>;
  /** Deletes all rows of another job. */
  removeJob(id: string): Promise<void>;
  /** Deletes all that was collected. */
  forget(jobId: string): Promise<void>;
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
